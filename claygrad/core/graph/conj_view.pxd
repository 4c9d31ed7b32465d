from cpython.object cimport PyObject

from claygrad.core.data.layout cimport Layout

# Note [Lazy conjugates]
# conj() of a complex tensor is a view: it has the memory of its base, and its layout has the bit CONJ, which says that the bytes
# are the conjugates of the values. The imaginary part of such a view has the bit NEG. The invariant: no kernel, no forward and no
# native form ever sees a layout with bits. These functions ensure it:
#
# run, call_inplace (dispatch/call.pyx)       compute with resolved arguments, record the given ones; a write to a lazy tensor is
#                                             computed in new memory and then written through its bits
# make_view (graph/view.pyx)                  passes the bits on; only views declared with `lazy=` change them
# write_layout (graph/inplace.pyx)            reads and writes layouts with bits
# call_rules (graph/rules.pyx)                does not use native rules if an argument is lazy
# Layout.array                                returns the values as a read-only copy
#
# Composites get lazy arguments unchanged, and their native forms are not used then. All this is checked only once the process has
# created a lazy layout (Note [Unusual]), so programs without complex numbers pay for one comparison.

cdef Layout with_bits(Layout v, int bits)                # the same memory under other bits
cdef Layout resolved(Layout v)                           # the values in new memory; v itself if it has no bits
cdef bint any_lazy(PyObject** slots, int n) except -1    # whether one of the arguments is lazy, or a list with one that is
cdef bint any_off_cpu(PyObject** slots, int n) except -1    # the same for memory of other devices
cdef list resolve(PyObject** slots, int n, PyObject** resolved_slots)   # fills in the arguments without bits; returns what keeps them alive
cdef int write_lazy(Layout dst, Layout src) except -1    # copy with broadcasting and cast between layouts with bits
