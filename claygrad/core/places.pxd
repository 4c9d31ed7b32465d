from cpython.object cimport PyObject

from claygrad.core.layout cimport Layout

cdef Layout gathered(PyObject** slots)                            # gather of any layout; None: the declaration decides
cdef Layout scatter_added(PyObject** slots, Layout target)        # scatter_add of any layout
