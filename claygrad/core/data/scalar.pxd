from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

ctypedef void (*cast_fn)(const void*, void*, int64_t) noexcept nogil

cdef union Number:
    float f32
    double f64
    float c64[2]
    double c128[2]
    int64_t i64
    int32_t i32
    int16_t i16
    uint8_t byte

cdef cast_fn cast_between(int source, int target) noexcept           # NULL: none
cdef bint element_of(object value, dtype d, void* into)              # write a Python number as an element; False if it may not fit
cdef bint operand_of(object value, int kept, int code, bint round_half, Number* out) except -1
cdef bint bound_of(bint above, int code, Number* out) noexcept
cdef object number_at(Layout layout, int64_t at)                      # the element at that offset as a Python number
