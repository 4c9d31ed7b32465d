from cpython.object cimport PyObject

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

cdef Layout cast_half(Layout v, dtype want)             # between half precision and float32, of dense memory
cdef Layout wide_half(Layout v)                         # half precision as float32, any layout
cdef object by_float(Op op, PyObject** slots)          # a layout, or a list of them; None when the native form does not apply
