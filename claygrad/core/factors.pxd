from claygrad.core.declared cimport Op
from claygrad.core.layout cimport Layout


cdef int prepare(Op op) except -1
cdef bint all_finite(Layout v) noexcept
