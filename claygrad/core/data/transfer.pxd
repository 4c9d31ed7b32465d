# Copies between main memory and accelerators: Note [Accelerators] in core/data/device.pxd.
from claygrad.core.data.device cimport device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

cdef Layout to_host(Layout v)                            # itself if it is there already, else a contiguous copy
cdef object array_on(Layout v, device where)             # the elements as an array of that accelerator, same dtype
cdef object cast_on(object table, object array, dtype have, dtype want)
cdef Layout adopt_array(device where, object array, dtype d, bint keep_order, list others)
cdef int write_across(Layout dst, Layout src) except -1  # cast and broadcast; one of the two is on an accelerator
