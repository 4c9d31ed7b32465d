from cpython.object cimport PyObject


cdef object converted(PyObject** args, Py_ssize_t n, PyObject* kwnames)
