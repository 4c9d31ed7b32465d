from cpython.object cimport PyObject
from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
cdef bint numbers_of(Op op, PyObject** slots, double* out) except -1
cdef bint uniform(Layout v) noexcept
cdef bint is_permuted(Layout v) noexcept
cdef bint same_run(Layout a, Layout b) noexcept
cdef Layout fresh_run(Layout like, dtype dt)
