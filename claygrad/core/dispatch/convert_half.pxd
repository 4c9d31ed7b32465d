from cpython.object cimport PyObject

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

cdef Layout cast_half(Layout v, dtype want)             # between halves and float32, of what is one run of memory
cdef Layout wide_half(Layout v)                         # halves as float32, whatever their layout
cdef object by_float(Op op, PyObject** slots)          # a layout, or a list of them; None when the native form does not apply
