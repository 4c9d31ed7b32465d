from libc.stdint cimport int64_t

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    struct Norm:
        int64_t examples, channels, places, groups
        const void* x
        const void* g
        const void* weight
        const void* bias
        void* out
        void* mean
        void* rstd
        void* variance
        void* to_x
        void* to_weight
        void* to_bias
        double eps
        bint given

    struct CrossEntropy:
        int64_t rows, classes, ignored
        const void* x
        const int64_t* target
        void* loss
        void* kept
        const void* scale
        bint one_scale
        void* to_x

    ctypedef bint (*norm_fn)(const Norm*) noexcept nogil
    ctypedef void (*cross_entropy_fn)(const CrossEntropy*) noexcept nogil
    ctypedef bint (*add_rows_fn)(const void*, const int64_t*, void*, int64_t, int64_t, int64_t) noexcept nogil
