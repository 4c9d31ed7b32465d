from cpython.object cimport PyObject

from claygrad.core.op cimport Op

cdef bint quick(int kind, object value) noexcept                       # surely what its kind asks for
cdef object checked(Op op, int i, object value, bint by_place)         # in the form its kind asks for, or torch's TypeError
cdef object axes(Op op, object dim, int ndim)                          # reduction dims from 0 on; None: all
cdef object bind_keywords(Op op, PyObject** slots, PyObject** values, PyObject* kwnames)   # returns out=
cdef object collect(Op op, PyObject** args, Py_ssize_t n)              # x.view(2, 3): the ints as a tuple, or None
cdef object exact_int(object x)                    # by __index__; TypeError where that gives no int
cdef object from_numpy(object value)                                   # a number or a tensor
