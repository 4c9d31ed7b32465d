from libc.stdint cimport int32_t, int64_t

from claygrad.core.data.layout cimport Layout

cdef extern from "linalg/linalg.hpp" namespace "clay" nogil:
    struct Matrices:
        void* data
        int64_t step, row, column
    struct LinearAlgebra:
        int64_t count, m, n, k
        Matrices a, b, x, y
        int32_t* pivots
        int32_t* info
        bint upper, unit

    ctypedef bint (*linalg_fn)(const LinearAlgebra* job) noexcept nogil

cdef enum:
    MAX_SIZE = 4096                          # rows or columns: above, LAPACK
    MAX_VALUES = 1024                   # for eigenvalues or singular values only
    MAX_ROTATED = 512                    # with vectors, computed by rotations
    MAX_ROTATED_F64 = 256               # of float64
cdef bint all_finite(Layout v) noexcept
