from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport Node

# The origin of a view: decides which in-place writes to it are errors.
cdef enum:
    VIEW_DEFAULT = 0
    VIEW_CUSTOM = 1           # made inside a custom Function
    VIEW_MULTI = 2            # output of a function that returns several views
    VIEW_NO_GRAD = 3          # made under no_grad
    VIEW_INFERENCE = 5        # a view of a normal tensor made in inference mode

cdef enum:
    CREATED = 0                  # `code` is where a factory made the tensor
    CUT = 1                   # `code` is where it was cut from a graph

cdef class Counter:           # the private version counter of a .data alias
    cdef int64_t value

cdef class Tensor:
    cdef Layout layout
    cdef Node node
    cdef int output_nr
    cdef bint leaf_grad        # requires_grad of a leaf
    cdef bint inference
    cdef bint retains          # retain_grad() was asked of it
    cdef Tensor grad_
    cdef Tensor base            # the root, if this is a view
    cdef int64_t view_version   # the version at which a view's node was made
    cdef int creation
    cdef PyObject* accumulator  # borrowed: the AccumulateGrad of this leaf, while it lives
    cdef Counter counter
    cdef dict hooks             # of a leaf: {id: f(grad)}
    cdef dict after_hooks       # of a leaf: post-accumulate hooks
    cdef object code
    cdef int lasti
    cdef int mark
    cdef PyObject* attributes   # the instance's __dict__, made when first needed (Note [Lazy __dict__])
    cdef object __weakref__

    cdef int64_t version(self) noexcept
    cdef void bump(self) noexcept

cdef class AccumulateGrad(Node):       # no fields of its own: it comes from the free list of nodes
    pass

cdef inline Tensor leaf_of(Node accumulator):
    return <Tensor>accumulator.slot0

cdef inline bint requires(Tensor t) noexcept:
    return t.node is not None or t.leaf_grad or (t.base is not None and (t.base.node is not None or t.base.leaf_grad))

cdef int keep_counter(Tensor t) except -1
cdef Tensor bare_tensor()                      # without a layout: the caller sets it at once
cdef Tensor bare_of(object cls)                # the same, of a subclass
cdef Tensor new_tensor(Layout layout)
cdef Tensor mark_created(Tensor t)
cdef Tensor mark_cut(Tensor t)
cdef Tensor alias(Tensor t, bint own_counter)
cdef Tensor detached(Tensor t)
cdef Node gradient_edge(Tensor t, int* nr)     # None if t does not require grad
cdef str shape_text(Layout layout)             # [2, 3]
cdef object size_of(Layout layout)             # Size

# The functions behind Python's operators, set by core/dispatch: the tensor itself knows no operations.
cdef enum:
    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    FLOORDIV = 4
    MOD = 5
    POW = 6
    MATMUL = 7
    AND = 8
    OR = 9
    XOR = 10
    LSHIFT = 11
    RSHIFT = 12
    EQ = 13
    NE = 14
    LT = 15
    LE = 16
    GT = 17
    GE = 18
    NEG = 19
    ABS = 20
    INVERT = 21
    N_VERBS = 22

ctypedef object (*binary_verb)(int which, object a, object b)
ctypedef object (*unary_verb)(int which, Tensor a)
ctypedef int (*refresh_verb)(Tensor view) except -1
ctypedef object (*getitem_verb)(Tensor t, object key)
ctypedef int (*setitem_verb)(Tensor t, object key, object value) except -1
ctypedef int (*backward_verb)(Tensor root, bint retain_graph) except -1

cdef struct Verbs:
    binary_verb binary
    binary_verb inplace
    unary_verb unary
    refresh_verb refresh            # bring the node of a view up to date with its base
    getitem_verb getitem
    setitem_verb setitem
    backward_verb backward          # of a scalar root, into every leaf

cdef Verbs* verbs() noexcept
