from cpython.object cimport PyObject

from claygrad.core.data.dtype cimport N_DTYPES
from claygrad.core.data.layout cimport Layout

cdef enum:
    MAX_PARAMS = 24
    MAX_SLOTS = 24
    MAX_TENSORS = 16

# The kind of an operation: decides how the reference treats its inputs and results.
cdef enum:
    POINTWISE = 0
    REDUCTION = 1
    GENERAL = 2
    VIEW = 3
    MULTI_VIEW = 4
    COMPOSITE = 5            # a Python function over tensors

cdef enum:
    PROMOTE_NONE = 0
    PROMOTE_COMMON = 1
    PROMOTE_FLOAT = 2
    PROMOTE_BOOL = 3
    PROMOTE_SUM = 4
    PROMOTE_INDEX = 5

# What a parameter takes (P_TENSOR .. P_TENSORS are tensor parameters).
cdef enum:
    P_TENSOR = 0
    P_TENSOR_OPT = 1
    P_TENSOR_NUM = 2
    P_TENSOR_NUM_OPT = 3
    P_TENSORS = 4
    P_NUMBER = 5
    P_INT = 6
    P_INT_OPT = 7
    P_FLOAT = 8
    P_FLOAT_OPT = 9
    P_BOOL = 10
    P_STR = 11
    P_STR_OPT = 12
    P_INTS = 13
    P_INTS_OPT = 14
    P_DTYPE_OPT = 15
    P_ANY = 16

# Arguments of a rule.
cdef enum:
    A_SLOT = 0               # slots from 0 on
    A_G = -1
    A_GS = -2
    A_NEEDS = -3

cdef enum:
    S_PARAM = 0              # the value of a parameter (tensor: saved)
    S_SHAPE = 1              # the Size of a tensor parameter
    S_DTYPE = 2
    S_STRIDE = 3
    S_OFFSET = 4
    S_OUT = 5                # output 0
    S_OUTS = 6               # all outputs
    S_AUX = 7                # all outputs but the first

# Kinds of gradients.
cdef enum:
    R_NONE = 0               # nothing declared: not differentiable
    R_RULE = 1
    R_ZERO = 2
    R_CONSTANT = 3
    R_MISSING = 4
    R_JOINT = 5

cdef enum:
    FAMILY_NONE = 0
    FAMILY_UNARY = 1
    FAMILY_BINARY = 2
    FAMILY_COMPARE = 3

ctypedef object (*vectorcall_t)(object self, PyObject** args, size_t nargsf, PyObject* kwnames)
# Computes a result natively into `target` (None: into new memory). Returns its layout, of several results a list of them; None when it
# does not apply.
ctypedef object (*fast_t)(Op op, PyObject** slots, Layout target)
# The native form of a composite; None: does not apply.
ctypedef object (*composite_slots_t)(Op op, PyObject** slots)
# A native derivative rule, for a backward that is not recorded; None: does not apply.
ctypedef Layout (*fast_rule_t)(PyObject** args)

# Note [An operation in three parts]
# What a call may be (Signature), how the CPU computes it (Native) and how backward does (Rules) are bases of Op, one on top of the
# other: a field is read at a fixed place, and whoever needs one part names it. Nothing but Op is ever made.
cdef class Signature:
    cdef vectorcall_t vectorcall
    cdef readonly str name
    cdef readonly object forward
    cdef readonly str node_label
    cdef object node_rule         # callable that names the node, or None
    cdef tuple node_args          # the parameters it takes; None: all, by name
    cdef str none_label           # its result if a parameter is None: x.sum(), the common case
    cdef object promote_rule      # callable that returns the promotion, or None
    cdef tuple promote_args
    cdef object check             # callable that raises for wrong arguments, before any cast; or None
    cdef tuple check_args         # parameter numbers; -1: whether the call is in place
    cdef bint kept[24]            # tensor parameters that are not promoted
    cdef int inplace_at           # an `inplace` flag among the parameters, or -1
    cdef bint number_edge         # a number for a tensor parameter has an edge in next_functions
    cdef int kind
    cdef int promote
    cdef bint half_raw
    cdef int wide_at              # the parameter that is not rounded (Note [Half precision]), or -1
    cdef bint inplace             # this is the in-place form
    cdef bint has_out
    cdef bint method              # the method form: messages count positions without self
    cdef readonly Op in_place     # the in-place form of this one
    cdef list twins               # other forms, which share the rules
    cdef readonly tuple params
    cdef int n_params
    cdef int n_positional
    cdef tuple keyword_names      # names of the keyword-only parameters
    cdef int varargs              # the parameter that collects positional ints, or -1
    cdef signed char kinds[24]
    cdef tuple defaults           # `...` where there is none
    cdef int n_tensors            # tensor parameters, in order:
    cdef int tensors[16]
    cdef int list_at              # position in `tensors` of the list parameter, or -1
    cdef int dim_at               # reduction: index of `dim`, `keepdim`, `dtype`, or -1
    cdef bint names_given_dims    # its errors name dims as given
    cdef int keepdim_at
    cdef int dtype_at
    cdef object meta
    cdef object returns           # named tuple class for several outputs, or None
    cdef int lazy                 # of a view: the bits that it flips (Note [Lazy conjugates])
    cdef readonly dict info       # other options of the declaration: samples, docs, names
    cdef dict __dict__            # attributes set by users: F.relu.foo = 1

cdef class Native(Signature):
    cdef fast_t fast
    cdef composite_slots_t composite
    cdef void* form               # behind one of those, the native form that takes checked arguments,
    cdef void* takes              # and what is checked: Note [The guard] in core/dispatch/guard.pxd
    cdef tuple parts              # of a composite: the operations that its native form calls
    cdef void* kernels[N_DTYPES]        # by dtype code
    cdef void* number_kernels[N_DTYPES]  # the same with a Python number as second operand
    cdef int family
    cdef fast_t own_fast          # the native form that is tried before that of native/elementwise_strided.pyx
    cdef void* each_kernels[N_DTYPES]   # by dtype code: kernels for operands of any layout,
    cdef signed char each_kinds[N_DTYPES]    # how they are called,
    cdef signed char each_results[N_DTYPES]  # the dtype of their results,
    cdef long long each_grains[N_DTYPES]     # min elements per thread,
    cdef bint each_refuses[N_DTYPES]         # whether they may fail on an element, after part of the result is written
    cdef bint checks_dtypes       # its check is about dtypes alone, and passes for equal floating dtypes
    cdef dict variants            # by the value of a parameter: the operation with the kernel for it
    cdef int variant_at
    cdef Op without_last          # the operation without the last, optional operand: faster for few elements and for integers
    cdef bint fast_any            # the native form writes in place to any layout
    cdef int n_kernel_if          # parameters that must have certain values for the kernel
    cdef int kernel_if_at[8]
    cdef tuple kernel_if

cdef class Rules(Native):
    cdef bint recorded            # has rules: calls on tensors that require grad make nodes
    cdef object differentiable    # tuple of output numbers, or None: all floating ones
    cdef fast_rule_t fast_rules[4]  # by tensor parameter
    cdef int n_slots
    cdef int slot_kind[24]
    cdef int slot_param[24]
    cdef tuple slot_names
    cdef int how[16]              # R_* by tensor parameter
    cdef tuple rule_fns           # callables by tensor parameter
    cdef tuple rule_ops           # the operations behind straight rules (Note [Straight rules]); None: not looked up yet
    cdef object joint
    cdef tuple rule_args          # tuples of A_*/slot numbers, by tensor parameter; joint: one at 0
    cdef int rule_count[16]       # the same as C arrays: how many arguments, and which
    cdef signed char rule_sources[16][16]
    cdef unsigned int needs[16]   # slots that a parameter's rule reads, as bits

cdef class Op(Rules):
    cdef Op copy(self)

cdef Op find_op(str name)
cdef tuple straight(Op op)        # Note [Straight rules]
cdef int promotion_of(Op op, PyObject** slots) except -1
cdef int run_check(Op op, PyObject** slots) except -1
