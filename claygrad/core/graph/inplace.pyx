"""In-place writes: torch's errors, copies for saved values, and the new history."""

import numpy

cimport cython
from cpython.object cimport PyTypeObject
from libc.stdint cimport int64_t

from claygrad.core.data.device cimport ACCELERATOR, CPU
from claygrad.core.data.transfer cimport to_host, write_across
from claygrad.core.data.dtype cimport C32, C64, CAT_FLOAT, cast_array, dtype, of_code
from claygrad.core.errors import no_elements
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.layout cimport CONJ, NEG, SPARSE, Layout, dense
from claygrad.core.graph.conj_view cimport write_lazy
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node, clay_scope_take, next_seq
from claygrad.core.graph.provenance cimport where_text
from claygrad.core.graph.record cimport freed_error, note_view, record_again
from claygrad.core.graph.rules cimport call_rules
from claygrad.core.tensor cimport Tensor, gradient_edge, requires, shape_text, verbs
from claygrad.core.graph.view cimport Place, name_after, node_to_view, place_of, refusal, replay

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1

# Bytes above which a copy runs without the interpreter lock.
cdef enum:
    RELEASE = 262144


cdef int check_writable(Tensor t, bint recording) except -1:
    if t.inference:
        check_inference(t)
    return check_history(t, recording)


cdef int check_inference(Tensor t) except -1:
    if t.counter is None and not modes().inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get "
                           "a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                           "details.")
    return 0


cdef int check_history(Tensor t, bint recording) except -1:
    if modes().no_grad or modes().inference:
        return 0
    if t.base is not None:
        return _check_view(t, recording)
    if t.leaf_grad and t.node is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."
                           + where_text("the leaf was made", t.code, t.lasti)
                           + "\n  Change it under no_grad(), through .data, or work on a copy (clone()).")
    return 0


cdef int _check_view(Tensor t, bint recording) except -1:
    if not recording and not requires(t):
        return 0
    error = refusal(t, False)
    if error is not None:
        raise error
    if requires(t) and t.base.node is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation."
                           + where_text("the leaf was made", t.base.code, t.base.lasti)
                           + "\n  Change it under no_grad(), through .data, or work on a copy (clone()).")
    if requires(t) and t.node is None:            # its base required grad only after the view was created
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."
                           + where_text("the leaf was made", t.code, t.lasti))
    return 0


cdef int begin_write(Tensor t) except -1:
    t.layout.storage.before_write()
    t.bump()
    return 0


cdef bint overlaps(Tensor x, Tensor t, bint fully_too):
    """Whether two tensors overlap partly, which an elementwise write refuses; as torch, only dense ones are checked."""
    cdef Layout v = x.layout, target = t.layout
    cdef int64_t item = v.dtype.itemsize
    if x is t:
        return fully_too
    if v.storage is not target.storage or v.numel == 0 or target.numel == 0 or not dense(v) or not dense(target):
        return False
    if v.bits & (CONJ | NEG):                        # computed into memory of its own before anything is written
        return False
    cdef int64_t begin = v.offset * item, end = begin + v.numel * item
    cdef int64_t first = target.offset * target.dtype.itemsize, last = first + target.numel * target.dtype.itemsize
    if begin == first and end == last and v.stride_tuple() == target.stride_tuple():
        return fully_too
    return begin < last and first < end


cdef int write_layout(Layout dst, Layout src) except -1:
    cdef int64_t a[64]
    cdef int64_t b[64]
    cdef int64_t item
    cdef int i, k
    if dst.storage.where.kind != CPU:
        if dst.storage.where.kind == ACCELERATOR:
            return write_across(dst, src)
        if dst.bits & SPARSE:
            raise no_elements()
        return 0
    if dst.bits or src.bits:
        return write_lazy(dst, to_host(src))
    if dst.dtype is src.dtype and src.storage.where.kind == CPU and src.ndim <= dst.ndim:
        item = dst.dtype.itemsize
        for i in range(dst.ndim):
            k = i - (dst.ndim - src.ndim)
            b[i] = dst.strides[i] * item
            if k < 0:
                a[i] = 0
            elif src.shape[k] == dst.shape[i]:
                a[i] = src.strides[k] * item
            elif src.shape[k] == 1:
                a[i] = 0
            else:
                raise RuntimeError(f"shape mismatch: cannot write {shape_text(src)} into {shape_text(dst)}")
        if dst.numel * item > RELEASE:
            with nogil:
                copy_strided(src.data(), a, dst.data(), b, dst.shape, dst.ndim, item)
        else:
            copy_strided(src.data(), a, dst.data(), b, dst.shape, dst.ndim, item)
        return 0
    if src.storage.where.kind == ACCELERATOR:
        return write_layout(dst, to_host(src))
    source = src.array()
    if src.dtype.code == C32:
        source = cast_array(source, of_code(C64).numpy)
    if source.dtype.kind == "c" and dst.dtype.category <= CAT_FLOAT:
        source = source.real
    numpy.copyto(dst.array(), cast_array(source, dst.dtype.numpy))         # NumPy would write a number into both parts of complex32
    return 0


# --- history -----------------------------------------------------------------------------------------------------
@cython.final
@cython.binding(False)
@cython.no_gc_clear
cdef class CopySlices(Node):
    """The history of a base after a write to one of its views: inside the view through `fn`, outside unchanged."""
    cdef Node fn
    cdef tuple view_shape
    cdef tuple view_strides
    cdef object view_offset
    cdef dtype view_dtype                  # None: the view has dtype and bits of the base
    cdef int view_bits
    cdef int base_bits
    cdef int base_offset
    cdef tuple base_shape
    cdef tuple base_strides                # None: contiguous

    cpdef str name(self):
        return "torch::autograd::CopySlices"

    cdef list apply(self, list grads, bint create_graph):
        cdef Tensor g = <Tensor>grads[0]
        if self.freed:
            raise freed_error(self)
        if self.view_dtype is not None:
            base, part = self.other_dtype(g)
        else:
            if self.base_strides is not None:
                base = g.new_empty_strided(self.base_shape, self.base_strides).copy_(g)
            else:
                base = g.clone() if g.layout.contiguous else g.contiguous()
            part = base.as_strided(self.view_shape, self.view_strides, self.view_offset)
        if self.fn.op is not None:
            inner = call_rules(self.fn, [part.clone()], create_graph, 0)
        else:
            inner = self.fn.apply([part.clone()], create_graph)
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0])
        if self.view_dtype is not None:              # its memory was written through another view: bring its node up to date,
            verbs().refresh(<Tensor>base)            # since it may be written next
        if self.base_bits & CONJ:
            base = base.conj()
        inner[0] = None if self.edge(0) is None else base.neg() if self.base_bits & NEG else base
        return inner

    cdef tuple other_dtype(self, Tensor g):
        """A copy of the gradient of the base, and the view's part of it."""
        span = self.base_offset + 1
        for n, step in zip(self.base_shape, self.base_strides):
            span += (n - 1) * step if n else 0
        if self.base_bits & CONJ:
            g = g.conj()
        if self.base_bits & NEG:
            g = -g
        base = g.new_empty((span,)).as_strided(self.base_shape, self.base_strides, self.base_offset).copy_(g)
        return base, replay(base, 0, self.view_dtype, self.view_bits, self.view_shape, self.view_strides, self.view_offset)

    cdef void free_saved(self):
        # With create_graph `fn` may also be reached by itself, through a value that it saved (Note [Outputs written into views]):
        # then it runs later, and frees its saved values itself.
        if self.fn is not None and (self.fn.run != self.run or self.run == 0):
            self.fn.free_saved()
            self.fn.freed = self.fn.holds
            self.fn.freed_code, self.fn.freed_lasti = self.freed_code, self.freed_lasti


clay_seal(<PyTypeObject*>CopySlices)               # Note [Sealed types]


cdef int _other_dtype(CopySlices slices, Place view, Layout base) except -1:
    """Store the geometry of a view with another dtype or other bits than its base: Note [Views of another dtype]."""
    slices.view_dtype, slices.view_bits, slices.base_bits = view.kind, view.bits, base.bits
    slices.view_shape, slices.view_strides, slices.view_offset = view.shape, view.strides, view.offset - base.offset
    slices.base_shape, slices.base_strides = base.shape_tuple(), base.stride_tuple()
    if view.kind.itemsize < base.dtype.itemsize:
        slices.view_offset = view.offset - 2 * base.offset
    elif view.kind.itemsize > base.dtype.itemsize:
        slices.base_offset = base.offset & 1                     # complex numbers begin at even offsets
        slices.view_offset = (2 * view.offset - base.offset + slices.base_offset) // 2
    return 0


cdef int rebase(Tensor t, Node node) except -1:
    """Make the written tensor an output of the node; if it is a view, rewrite the history of its base."""
    cdef Tensor base = t.base
    cdef CopySlices slices
    cdef Place at
    cdef int i, nr = 0
    cdef Node old, moved
    if base is None:
        record_again(node, t)
    else:
        old = gradient_edge(base, &nr)
        slices = CopySlices.__new__(CopySlices)
        slices.seq = next_seq()
        slices.code = node.code
        slices.lasti = node.lasti
        slices.scope = clay_scope_take(node.scope)
        slices.fn = node
        slices.holds = True
        slices.view_shape, slices.view_strides = t.layout.shape_tuple(), t.layout.stride_tuple()
        slices.view_offset = t.layout.offset - base.layout.offset
        at = place_of(t)
        if at is not None:
            _other_dtype(slices, at, base.layout)
        elif not base.layout.contiguous:
            slices.base_shape, slices.base_strides = base.layout.shape_tuple(), base.layout.stride_tuple()
        slices.add_edge(old, nr)
        if t.node is not None and t.layout.storage is not base.layout.storage:
            moved = node_to_view(t)                        # after `t.data = ...`: the view is found by geometry, not by its origin
            if moved.n_outputs == 0:
                moved.describe_output(t.layout)
            moved.seq, node.seq = node.seq, moved.seq        # the node behind an edge must be the older one
            node.edge0, node.nr0 = moved, 0
        for i in range(1, node.n_edges):
            slices.add_edge(node.edge(i), node.edge_nr(i))
        before = None if t.node is None else t.node.name()
        record_again(node, t)                        # saves `out` for the rule
        record_again(slices, base)
        t.view_version = -1
        verbs().refresh(t)
        name_after(t, before)
        note_view(node, t)
    return 0
