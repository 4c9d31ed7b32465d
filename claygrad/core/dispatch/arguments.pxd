from cpython.object cimport PyObject

from claygrad.core.op cimport Op

cdef bint is_valid(int kind, object value) noexcept                    # a fast test; False: call `checked`
cdef object checked(Op op, int i, object value, bint by_place)         # converted to what its kind needs, or torch's TypeError
cdef object axes(Op op, object dim, int ndim)                          # reduction dims as non-negative axes; None: all
cdef object bind_keywords(Op op, PyObject** slots, PyObject** values, PyObject* kwnames)   # returns out=
cdef object collect(Op op, PyObject** args, Py_ssize_t n)              # x.view(2, 3): the ints as a tuple, or None
cdef object exact_int(object x)                    # through __index__; raises TypeError if that is no int
cdef object from_numpy(object value)                                   # a number or a tensor
