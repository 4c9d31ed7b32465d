"""Native forms of ctc_loss; claygrad/ops/ctc.py has the definition."""
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport int64_t, uint8_t

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport I64, U8, of_code
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, fresh, fresh_like
from claygrad.core.dispatch.guard cimport Arg, form_t, int_at
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    struct Alignment:
        int64_t frames, examples, classes, positions
        const void* log_probs
        const int64_t* labels
        const uint8_t* skips
        const int64_t* spans
        const int64_t* lengths
        void* loss
        void* alpha
        const void* g
        void* to_log_probs
        bint zero_infinity

    ctypedef bint (*alignment_fn)(const Alignment*) noexcept nogil


cdef struct Ctc:
    Arg log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
cdef struct CtcBackward:
    Arg grad_output, log_probs, targets, loss, log_alpha, input_lengths, target_lengths, blank, zero_infinity


cdef list _labels_and_blanks(Alignment* s, Layout x, Layout targets, object spans, object lengths, int64_t silent):
    """Fill in the label of every state and the allowed skips; returns what keeps their memory alive, or None for bad arguments."""
    cdef Layout labels, skips, sizes
    cdef int64_t shape[2]
    cdef int64_t e, i, longest = 0, start = 0, stride, own
    cdef int64_t* at
    cdef const int64_t* given
    s.frames, s.examples, s.classes, s.log_probs = x.shape[0], x.shape[1], x.shape[2], x.data()
    if type(spans) is not tuple or type(lengths) is not tuple or len(<tuple>spans) != s.examples or len(<tuple>lengths) != s.examples:
        return None
    shape[0], shape[1] = 2, s.examples
    sizes = fresh(of_code(I64), 2, shape)
    at = <int64_t*>sizes.data()
    for e in range(s.examples):
        if not int_at(PyTuple_GET_ITEM(spans, e), at + e) or not int_at(PyTuple_GET_ITEM(lengths, e), &own):
            return None
        if at[e] < 0 or at[e] > s.frames or own < 0:
            return None
        at[s.examples + e] = 2 * own + 1
        longest = own if own > longest else longest
    s.spans, s.lengths, s.positions = at, at + s.examples, 2 * longest + 1
    stride = targets.shape[1] if targets.ndim == 2 else 0
    if targets.ndim == 2 and (targets.shape[0] != s.examples or stride < longest):
        return None
    shape[0], shape[1] = s.examples, s.positions
    labels, skips = fresh(of_code(I64), 2, shape), fresh(of_code(U8), 2, shape)
    at, given = <int64_t*>labels.data(), <const int64_t*>targets.data()
    s.labels, s.skips = at, <uint8_t*>skips.data()
    for e in range(s.examples):
        own = s.lengths[e] // 2
        if targets.ndim == 1 and start + own > targets.numel:
            return None
        for i in range(s.positions):
            at[i] = silent
            if i % 2 and i < 2 * own:
                at[i] = given[(e * stride if targets.ndim == 2 else start) + i // 2]
            if at[i] < 0 or at[i] >= s.classes:
                return None
            (<uint8_t*>s.skips)[e * s.positions + i] = i >= 2 and at[i] != silent and at[i] != at[i - 2]
        at += s.positions
        start += own
    return [sizes, labels, skips]


cdef list _align(Op op, Ctc* a):
    cdef Alignment s
    cdef Layout x = <Layout>a.log_probs.layout, loss, alpha
    cdef list kept = _labels_and_blanks(&s, x, <Layout>a.targets.layout, <object>a.input_lengths.given, <object>a.target_lengths.given,
                                        a.blank.value)
    cdef int64_t shape[3]
    cdef bint done
    if kept is None:
        return None
    shape[0], shape[1], shape[2] = s.examples, s.frames, s.positions
    loss, alpha = fresh(x.dtype, 1, shape), fresh(x.dtype, 3, shape)
    s.loss, s.alpha = loss.data(), alpha.data()
    with nogil:
        done = (<alignment_fn>find("loss", "align", x.dtype.code))(&s)
    return [loss, alpha] if done else None


cdef Layout _align_back(Op op, CtcBackward* a):
    cdef Alignment s
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.log_probs.layout, loss = <Layout>a.loss.layout
    cdef Layout alpha = <Layout>a.log_alpha.layout, out
    cdef list kept = _labels_and_blanks(&s, x, <Layout>a.targets.layout, <object>a.input_lengths.given, <object>a.target_lengths.given,
                                        a.blank.value)
    cdef bint done
    if kept is None or g.numel != s.examples:
        return None
    if loss.numel != s.examples or alpha.numel != s.examples * s.frames * s.positions:
        return None
    out = fresh_like(x)
    s.g, s.loss, s.alpha, s.to_log_probs, s.zero_infinity = g.data(), loss.data(), alpha.data(), out.data(), a.zero_infinity.value
    with nogil:
        done = (<alignment_fn>find("loss", "align_back", x.dtype.code))(&s)
    return out if done else None


offer("ctc_loss", <form_t>_align, "log_probs: float nonempty 3d, targets: int64 1-2d")
offer("ctc_loss_backward", <form_t>_align_back,
          "grad_output: float broadcast, log_probs: same nonempty 3d, targets: int64 1-2d, loss log_alpha: same")
