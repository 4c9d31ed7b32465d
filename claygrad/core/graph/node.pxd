from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from claygrad.core.data.device cimport device
from claygrad.core.data.dtype cimport dtype
from claygrad.core.data.layout cimport Layout

cdef extern from "module_scopes.h":
    ctypedef struct clay_scope:                # Note [Running modules]
        clay_scope* outer
        PyObject* module
        PyObject* kind
    clay_scope* clay_scope_take(clay_scope* scope) noexcept
    void clay_scope_release(clay_scope* scope) noexcept

# The kind of a saved slot, stored in place of its epoch.
cdef enum:
    PLAIN = -1              # any Python value
    BOXED = -2              # a SavedTensor, or a list of them (and of None)

# A saved tensor that needs more than a layout and an epoch: with saved-tensor hooks, of memory visible outside claygrad, by a
# custom Function, or in a list.
cdef class SavedTensor:
    cdef Layout layout          # None once released
    cdef int64_t epoch
    cdef object packed          # what the pack hook returned
    cdef object memory          # a weak reference to the storage that it may refer to (Note [Packed values])
    cdef object unpack
    cdef bint hooked
    cdef uint64_t print_         # checksum of exported memory
    cdef bint printed
    cdef Node node               # gradient edge of the tensor (None: constant, or output of the node that saves it)
    cdef int output_nr
    cdef bint is_output
    cdef bint requires_grad
    cdef object original         # the saved tensor object (weak or strong), for `ctx.saved_tensors`
    cdef bint whole              # `packed` is the tensor, of a class with __torch_dispatch__ (Note [Interception]); print_ its version
    cdef object tangents         # its tangents in forward mode
    cdef void release(self)

cdef class Hooks:
    cdef dict pre                # before the node runs: f(grad_outputs)
    cdef dict post               # after it: f(grad_inputs, grad_outputs)
    cdef dict tensor             # output number -> {id: f(grad)}
    cdef dict retain             # output number -> weak reference to the tensor whose .grad is kept

    cdef int retain_for(self, int nr, object reference) except -1

cdef class Node:
    cdef object op               # the Op that recorded it; None for special nodes
    cdef str label               # its name, where that depends on the call
    cdef int64_t seq
    cdef int n_edges
    cdef unsigned int numbers    # edges of Python numbers, as bits: not in next_functions
    cdef Node edge0, edge1
    cdef int nr0, nr1
    cdef list edges              # [(node, output number)] from the third on
    cdef int n_slots
    cdef object slot0, slot1, slot2
    cdef int64_t epoch0, epoch1, epoch2
    cdef tuple slots             # ((value, epoch), ...) from the fourth on; a tuple, which the garbage collector never empties
    cdef int n_outputs
    cdef int out_ndim
    cdef int64_t out_shape[5]
    cdef tuple out_big           # shape of output 0 if it has more dims
    cdef dtype out_dtype
    cdef device out_device
    cdef list outs               # [(shape, dtype, device)] of the outputs from the second on
    cdef object code             # where it was recorded
    cdef int lasti
    cdef bint holds              # has saved values that backward frees
    cdef bint always             # runs even if no gradient came
    cdef bint freed
    cdef unsigned int wanted     # the slots that its rules will read, as bits
    cdef object freed_code       # where the backward that freed it was called
    cdef int freed_lasti
    cdef clay_scope* scope       # of the module in whose forward it was recorded, or NULL; owned
    cdef Hooks hooks
    cdef dict notes              # .metadata; in anomaly mode the forward's stack is in it
    cdef PyObject** leaf_place   # of an AccumulateGrad: where its leaf (slot0) stores the pointer to it; else NULL
    cdef int64_t run             # for the engine: the current run, and the index of the node's task in it
    cdef int64_t task
    cdef object __weakref__

    cdef Node edge(self, int i)
    cdef int edge_nr(self, int i) noexcept
    cdef int add_edge(self, Node node, int nr) except -1
    cdef int save(self, object value, int64_t epoch) except -1
    cdef int set_slot(self, int k, object value, int64_t epoch) except -1
    cdef object slot(self, int k, int64_t* epoch)
    cdef void free_saved(self)
    cdef int describe_output(self, Layout layout) except -1
    cdef int describe_nothing(self) except -1
    cdef tuple shape_of(self, int nr)
    cdef bint fits(self, int nr, Layout grad)
    cdef dtype dtype_of(self, int nr)
    cdef device device_of(self, int nr)
    cdef int n_shown(self)                     # outputs that Python sees: not those of indices
    cdef Hooks want_hooks(self)
    cdef list apply(self, list grads, bint create_graph)
    cpdef str name(self)

cdef Node new_node()                           # uninitialised: the caller fills it at once
cdef SavedTensor new_saved()
cdef object expose(Node node)
cdef int64_t next_seq() noexcept
