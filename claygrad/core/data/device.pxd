cdef enum:
    CPU = 0
    ACCELERATOR = 1               # any other type of device: Note [Accelerators]
    META = 2
    SPARSE = 4                    # main memory, as indices and values: Note [Sparse tensors]
    WRAPPED = 5                   # no memory: the tensor stands for others, and its class answers (Note [Interception])

# Note [Accelerators]
# A device with memory of its own is an array module and a table of native forms, which claygrad/devices/ loads on first use. A
# storage there has no `ptr`; its `owner` is a block of the device's memory. Native forms of the CPU refuse such tensors as they
# refuse those on meta, and the reference runs over the device's array module (core/dispatch/accelerator.pyx). Tensors on one device
# have one and the same device object, with the table in it; two devices of a type are told apart by that.

cdef class device:
    cdef readonly str type
    cdef readonly object index
    cdef int kind
    cdef readonly object table        # claygrad.devices.Table of an accelerator that was asked for

cdef device cpu
cdef device scattered                         # the CPU, for the storages of sparse tensors
cdef bint apart(device a, device b) noexcept   # whether they are different devices
cdef device parse(object spec)                # device, str, int, None (the default device)
cdef device wrapped_as(object spec)           # the device of a wrapper tensor without memory that reports this device
cdef device told(device where)                # what the attribute `device` shows for `scattered` and wrapper tensors
