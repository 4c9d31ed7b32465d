from cpython.object cimport PyObject

from claygrad.core.data.layout cimport Layout

# Note [Lazy conjugates]
# conj() of a complex tensor is a view: it has the memory of its base, and its layout has the bit CONJ, which says that the bytes
# are the conjugates of the values. The imaginary part of such a view has the bit NEG. The invariant: no kernel, no forward and no
# native form ever sees a layout with bits. It is kept at the few places where operations take their arguments:
#
# run, call_inplace (dispatch/call.pyx)       compute with resolved arguments, record with those that were given; what is written
#                                             to a lazy tensor is computed first and then written back through its bits
# make_view (graph/view.pyx)                  hands the bits on; only the views that are declared with `lazy=` change them
# write_layout (graph/inplace.pyx)            reads and writes layouts with bits
# call_rules (graph/rules.pyx)                native rules are left out where an argument is lazy
# Layout.array                                gives the values, as a copy that cannot be written
#
# Composites get lazy arguments as they are, without their native forms. All of that is looked for only once a lazy layout has been
# made in the process (Note [Unusual]), so that programs without complex numbers pay for a comparison.

cdef Layout with_bits(Layout v, int bits)                # the same memory under other bits
cdef Layout resolved(Layout v)                           # the values in memory of their own; itself if it has no bits
cdef bint any_lazy(PyObject** slots, int n) except -1    # whether one of the arguments is lazy, or a list with one that is
cdef bint any_elsewhere(PyObject** slots, int n) except -1    # the same of memory that is not the CPU's
cdef list resolve(PyObject** slots, int n, PyObject** plain)   # the arguments without bits into `plain`; returns what keeps them alive
cdef int write_lazy(Layout dst, Layout src) except -1    # copy with broadcasting and cast between layouts with bits
