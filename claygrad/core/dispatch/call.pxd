from cpython.object cimport PyObject

from claygrad.core.op cimport Op, find_op

cdef object run(Op op, PyObject** slots)      # compute and record; the arguments are bound
cdef object call_inplace(Op op, PyObject** slots)      # the same, written into the first tensor
cdef object call_view(Op op, PyObject** slots)
cdef object compute_native(Op op, PyObject** slots)    # the layout of the result, or a list; all arguments are on the CPU
cdef object run_in_autocast(Op op, PyObject** slots)   # as run, with the inputs cast as autocast says


cdef inline object run_all(object op, list values):
    """The same with the arguments in a list, all of them."""
    cdef PyObject* slots[24]
    cdef int i
    for i in range(len(values)):
        slots[i] = <PyObject*>values[i]
    return run(<Op>op, slots)


cdef inline object view_by(str name, object x, object a, object b, object c, object d):
    """A view of x by the operation of this name, with its other arguments, None after the last of them."""
    cdef PyObject* slots[5]
    slots[0], slots[1], slots[2], slots[3], slots[4] = <PyObject*>x, <PyObject*>a, <PyObject*>b, <PyObject*>c, <PyObject*>d
    return call_view(find_op(name), slots)
