from cpython.object cimport PyObject

cdef extern from "frames.h":
    PyObject* clay_where(int* lasti)

cdef object here(int* lasti)                  # the code object of the user's line, or None
cpdef object line_of(object code, int lasti)  # "file:line, in function: source" or None
cpdef str where_text(str verb, object code, int lasti)
cpdef str place_text(str filename, int line)
