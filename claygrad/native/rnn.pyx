"""Native forms of RNN, GRU and LSTM layers; claygrad/ops/recurrent_layer.py has the definitions. None for other dtypes, wrong
shapes and empty inputs."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, dtype
from claygrad.core.data.kernels cimport Across, find, gemm, gemm_across
from claygrad.core.data.layout cimport Layout, fresh
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/rnn.hpp" namespace "clay" nogil:
    struct Sequence:
        const int64_t* first
        const int64_t* size
        int64_t steps
        int64_t batch
        int64_t width
        int64_t features
        const void* x
        const void* x_weight
        const void* x_bias
        void* gates
        void* out
        void* cells
        void* h
        void* c
        const void* weight
        const void* bias
        void* scratch
        const void* start
        const void* g_out
        void* g_gates
        void* beside
        int relu

    ctypedef void (*sequence_fn)(const Sequence*) noexcept nogil

cdef enum:
    RNN, GRU, LSTM


cdef struct RnnLayer:
    Arg input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse, relu
cdef struct RnnLayerBackward:
    Arg g_out, g_h, out, input, hx, w_ih, w_hh, sizes, reverse, relu, needs
cdef struct GruLayerBackward:
    Arg g_out, g_h, out, kept, input, hx, w_ih, w_hh, sizes, reverse, needs
cdef struct LstmLayer:
    Arg input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse
cdef struct LstmLayerBackward:
    Arg g_out, g_h, g_c, out, gates, cells, input, hx, cx, w_ih, w_hh, w_hr, sizes, reverse, needs


cdef bint _fits(const Arg* given, int64_t rows, int64_t width) noexcept:
    """Whether it is a matrix of this shape, or with no rows a vector; what is not there (NULL too) fits everywhere."""
    cdef Layout v
    if given == NULL or given.layout == NULL:
        return True
    v = <Layout>given.layout
    if v.ndim != (1 if rows < 0 else 2) or v.shape[v.ndim - 1] != width:
        return False
    return rows < 0 or v.shape[0] == rows


cdef inline Layout _block(const Arg* given):
    return None if given == NULL or given.layout == NULL else <Layout>given.layout


cdef inline void* _data(Layout v) noexcept:
    return NULL if v is None else v.data()


cdef inline int64_t _bytes(int code, int64_t count) noexcept nogil:
    return count * (4 if code == F32 else 8)


cdef Layout _empty(dtype kind, int64_t rows, int64_t width):
    """A new matrix, or with no rows a vector."""
    cdef int64_t[2] shape = [width if rows < 0 else rows, width]
    return fresh(kind, 1 if rows < 0 else 2, shape)


cdef Layout _copied(const Arg* state, dtype kind, int64_t rows, int64_t width):
    """A copy, or zeros for None."""
    cdef Layout out = _empty(kind, rows, width), from_ = _block(state)
    if from_ is None:
        memset(out.data(), 0, _bytes(kind.code, rows * width))
    else:
        memcpy(out.data(), from_.data(), _bytes(kind.code, rows * width))
    return out


cdef Layout _sum_of(Layout a, Layout b):
    """The sum of two biases, or the one that is given."""
    if a is None or b is None:
        return b if a is None else a
    cdef int64_t i
    cdef Layout out = _empty(a.dtype, -1, a.numel)
    cdef char* x = a.data()
    cdef char* y = b.data()
    cdef char* z = out.data()
    for i in range(a.numel):
        if a.dtype.code == F32:
            (<float*>z)[i] = (<float*>x)[i] + (<float*>y)[i]
        else:
            (<double*>z)[i] = (<double*>x)[i] + (<double*>y)[i]
    return out


cdef class _Steps:
    """First row and number of rows of each step, in the order in which they are taken."""
    cdef int64_t* offsets
    cdef int64_t count, rows
    cdef bint even                      # all sequences have the same length

    def __dealloc__(self):
        PyMem_Free(self.offsets)

    cdef bint take(self, tuple sizes, bint reverse, int64_t batch) except -1:
        """Read batch_sizes; False if they increase."""
        cdef int64_t k, at, size, before = batch
        self.count = len(sizes)
        self.offsets = <int64_t*>PyMem_Malloc(2 * (self.count + 1) * sizeof(int64_t))
        if self.offsets == NULL:
            raise MemoryError()
        self.rows, self.even = 0, True
        for k in range(self.count):
            size = sizes[k]
            if not 0 <= size <= before:
                return False
            at = self.count - 1 - k if reverse else k
            self.offsets[at], self.offsets[self.count + at] = self.rows, size
            self.rows += size
            self.even = self.even and size == batch
            before = size
        return True


cdef bint _start(Sequence* s, _Steps steps, object sizes, bint reverse, const Arg* input, const Arg* hx, const Arg* cx, const Arg* w_ih,
                 const Arg* w_hh, int64_t gates) except -1:
    """The shapes of a layer; False if they are not those of matrices that fit together."""
    s.features, s.batch, s.width = (<Layout>input.layout).shape[1], (<Layout>hx.layout).shape[0], (<Layout>hx.layout).shape[1]
    if not _fits(cx, s.batch, s.width):
        return False
    if not _fits(w_ih, gates * s.width, s.features) or not _fits(w_hh, gates * s.width, s.width):
        return False
    if type(sizes) is not tuple or not steps.take(<tuple>sizes, reverse, s.batch):
        return False
    s.first, s.size, s.steps = steps.offsets, steps.offsets + steps.count, steps.count
    return steps.rows > 0 and s.width > 0 and s.features > 0 and steps.rows == (<Layout>input.layout).shape[0]


cdef list _forward(int cell, object sizes, bint reverse, const Arg* input, const Arg* hx, const Arg* cx, const Arg* w_ih,
                   const Arg* w_hh, const Arg* b_ih, const Arg* b_hh, bint relu):
    """Out, the last states, and what backward asks for: nothing of an RNN, the gates of a GRU, gates and cells of an LSTM."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef dtype kind
    cdef int64_t n, wide, G = 4 if cell == LSTM else 3 if cell == GRU else 1
    if not _start(&s, steps, sizes, reverse, input, hx, cx, w_ih, w_hh, G):
        return None
    n, wide, kind = steps.rows, G * s.width, (<Layout>input.layout).dtype
    if not _fits(b_ih, -1, wide) or not _fits(b_hh, -1, wide):
        return None
    cdef Layout x = _block(input), by_x = _block(w_ih), by_h = _block(w_hh), bias = _block(b_ih), of_h = _block(b_hh)
    cdef Layout out = _empty(kind, n, s.width), h = _copied(hx, kind, s.batch, s.width), c = None, cells = None
    cdef Layout gates = out, scratch = None
    if cell == GRU:
        gates, scratch = _empty(kind, n, 4 * s.width), _empty(kind, s.batch, wide)
    else:
        bias, of_h = _sum_of(bias, of_h), None
    if cell == LSTM:
        gates, cells, c = _empty(kind, n, wide), _empty(kind, n, s.width), _copied(cx, kind, s.batch, s.width)
    s.x, s.x_weight, s.x_bias = _data(x), _data(by_x), _data(bias)
    s.gates, s.out, s.cells, s.h, s.c, s.weight = _data(gates), _data(out), _data(cells), _data(h), _data(c), _data(by_h)
    s.bias, s.scratch, s.relu = _data(of_h), _data(scratch), relu
    s.start = s.g_out = s.g_gates = s.beside = NULL
    cdef sequence_fn f = <sequence_fn>find("recurrent", "lstm" if cell == LSTM else "gru" if cell == GRU else "rnn", kind.code)
    with nogil:
        f(&s)
    return [out, h, c, gates, cells] if cell == LSTM else [out, h, gates] if cell == GRU else [out, h]


cdef void _before(const Sequence* s, int code, const char* after, const char* start, char* out) noexcept nogil:
    """The hidden states before each step, from those after it and the initial state."""
    cdef int64_t k, kept, size, row = _bytes(code, s.width)
    for k in range(s.steps):
        size = s.size[k]
        kept = 0 if k == 0 else size if size < s.size[k - 1] else s.size[k - 1]
        if kept > 0:
            memcpy(out + s.first[k] * row, after + s.first[k - 1] * row, kept * row)
        memcpy(out + (s.first[k] + kept) * row, start + kept * row, (size - kept) * row)


cdef list _backward(int cell, object sizes, bint reverse, const Arg* g_out, const Arg* g_h, const Arg* g_c, const Arg* kept,
                    const Arg* kept_gates, const Arg* kept_cells, const Arg* input, const Arg* hx, const Arg* cx, const Arg* w_ih,
                    const Arg* w_hh, object needs, bint relu):
    """Gradients of input, states, both weights and both biases, empty where they are not needed. What forward gave is kept: out,
    and what follows the states."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef bint gru = cell == GRU, lstm = cell == LSTM
    cdef int code, at = 2 if lstm else 1          # index of the last state in `needs`
    cdef dtype kind
    cdef int64_t n, wide, features, G = 4 if lstm else 3 if gru else 1
    if type(needs) is not tuple or len(<tuple>needs) < at + 5 or not _start(&s, steps, sizes, reverse, input, hx, cx, w_ih, w_hh, G):
        return None
    n, wide, features, kind = steps.rows, G * s.width, s.features, (<Layout>input.layout).dtype
    code = kind.code
    if not _fits(kept, n, s.width) or not _fits(g_out, n, s.width):
        return None
    if not _fits(g_h, s.batch, s.width) or not _fits(g_c, s.batch, s.width):
        return None
    if not _fits(kept_gates, n, 4 * s.width) or not _fits(kept_cells, n, s.width):
        return None
    cdef Layout x = _block(input), by_x = _block(w_ih), by_h = _block(w_hh), g_all = _block(g_out), out = _block(kept)
    cdef Layout gates = _block(kept_gates), cells = _block(kept_cells), first = _block(hx), begun = None, c = None, beside = None
    cdef Layout h = _copied(g_h, kind, s.batch, s.width), result = _empty(kind, n, wide)
    if lstm:
        c, begun = _copied(g_c, kind, s.batch, s.width), _block(cx)
    if gru:
        beside, begun = _empty(kind, n, s.width), first
    s.gates, s.out, s.cells, s.h, s.c, s.weight = _data(gates), _data(out), _data(cells), _data(h), _data(c), _data(by_h)
    s.start, s.g_out, s.g_gates, s.beside, s.relu = _data(begun), _data(g_all), _data(result), _data(beside), relu
    s.bias = s.scratch = s.x = s.x_weight = s.x_bias = NULL
    cdef sequence_fn f = <sequence_fn>find("recurrent", "lstm_backward" if lstm else "gru_backward" if gru else "rnn_backward", code)
    cdef Layout to_x = _empty(kind, n, features) if needs[0] else None
    cdef Layout to_w = _empty(kind, wide, features) if needs[at + 1] else None
    cdef Layout to_u = _empty(kind, wide, s.width) if needs[at + 2] else None
    cdef Layout of_x = _empty(kind, -1, wide) if needs[at + 3] else None
    cdef Layout of_h = _empty(kind, -1, wide) if needs[at + 4] else None
    cdef Layout previous = _empty(kind, n, s.width) if to_u is not None and not steps.even else None
    cdef void* dx = _data(to_x)
    cdef void* dw = _data(to_w)
    cdef void* du = _data(to_u)
    cdef void* px = _data(of_x)
    cdef void* ph = _data(of_h)
    cdef void* sums = ph if ph != NULL else px
    cdef char* old = <char*>_data(previous)
    cdef char* start = <char*>_data(first)
    cdef const void* a = _data(x)
    cdef const char* b = <const char*>_data(by_x)
    # The gate n of a GRU has different gradients for the input part and the hidden part: `own` columns are shared.
    cdef int64_t own = 2 * s.width if gru else wide, rest = wide - own, begin, end, row = _bytes(code, s.width)
    cdef Across[6] products
    cdef int count = 0
    with nogil:
        f(&s)
        if dx != NULL:
            gemm(code, False, False, n, features, own, s.g_gates, wide, b, features, dx, features, False)
            if gru:
                gemm(code, False, False, n, features, rest, s.beside, rest, b + _bytes(code, own * features), features, dx,
                     features, True)
        if dw != NULL:
            products[count] = Across(s.g_gates, wide, a, features, dw, own, features, n, False)
            count += 1
            if gru:
                products[count] = Across(s.beside, rest, a, features, <char*>dw + _bytes(code, own * features), rest, features, n, False)
                count += 1
        if du != NULL and old != NULL:
            _before(&s, code, <const char*>s.out, start, old)
            products[count] = Across(s.g_gates, wide, old, s.width, du, wide, s.width, n, False)
            count += 1
        elif du != NULL:                         # the rows one step earlier, and the state at the start
            begin, end = s.first[0], s.batch if s.steps > 1 and s.first[1] > s.first[0] else 0
            products[count] = Across(<char*>s.g_gates + _bytes(code, begin * wide), wide, start, s.width, du, wide, s.width, s.batch, False)
            products[count + 1] = Across(<char*>s.g_gates + _bytes(code, end * wide), wide, <char*>s.out + (s.batch - end) * row, s.width,
                                         du, wide, s.width, n - s.batch, True)
            count += 2
        if sums != NULL:
            products[count] = Across(s.g_gates, wide, NULL, 0, sums, wide if ph != NULL else own, 1, n, False)
            count += 1
        if px != NULL and gru:
            products[count] = Across(s.beside, rest, NULL, 0, <char*>px + _bytes(code, own), rest, 1, n, False)
            count += 1
        gemm_across(code, products, count)
        if px != NULL and px != sums:
            memcpy(px, sums, _bytes(code, own))
    nothing = _empty(kind, -1, 0)
    grads = [nothing if g is None else g for g in (to_x, h, c, to_w, to_u, of_x, of_h)]
    if not lstm:
        del grads[2]
    return grads


cdef list _rnn(Op op, RnnLayer* a):
    return _forward(RNN, <object>a.sizes.given, a.reverse.value, &a.input, &a.hx, NULL, &a.w_ih, &a.w_hh, &a.b_ih, &a.b_hh, a.relu.value)


cdef list _gru(Op op, RnnLayer* a):
    return _forward(GRU, <object>a.sizes.given, a.reverse.value, &a.input, &a.hx, NULL, &a.w_ih, &a.w_hh, &a.b_ih, &a.b_hh, False)


cdef list _lstm(Op op, LstmLayer* a):
    return _forward(LSTM, <object>a.sizes.given, a.reverse.value, &a.input, &a.hx, &a.cx, &a.w_ih, &a.w_hh, &a.b_ih, &a.b_hh, False)


cdef list _rnn_back(Op op, RnnLayerBackward* a):
    return _backward(RNN, <object>a.sizes.given, a.reverse.value, &a.g_out, &a.g_h, NULL, &a.out, NULL, NULL, &a.input, &a.hx, NULL,
                     &a.w_ih, &a.w_hh, <object>a.needs.given, a.relu.value)


cdef list _gru_back(Op op, GruLayerBackward* a):
    return _backward(GRU, <object>a.sizes.given, a.reverse.value, &a.g_out, &a.g_h, NULL, &a.out, &a.kept, NULL, &a.input, &a.hx, NULL,
                     &a.w_ih, &a.w_hh, <object>a.needs.given, False)


cdef list _lstm_back(Op op, LstmLayerBackward* a):
    cdef list result = _backward(LSTM, <object>a.sizes.given, a.reverse.value, &a.g_out, &a.g_h, &a.g_c, &a.out, &a.gates, &a.cells,
                                 &a.input, &a.hx, &a.cx, &a.w_ih, &a.w_hh, <object>a.needs.given, False)
    if result is not None:
        result.append(_empty((<Layout>result[0]).dtype, -1, 0))      # no projection
    return result


cdef str _LAYER = "input hx: float same copied 2d, w_ih w_hh: same copied, b_ih b_hh: same copied optional"
cdef str _BACK = "g_out g_h: same copied optional, out w_ih w_hh: same copied, input hx: float same copied 2d"

offer("rnn_layer", <form_t>_rnn, _LAYER)
offer("rnn_layer_backward", <form_t>_rnn_back, _BACK)
offer("gru_layer", <form_t>_gru, _LAYER)
offer("gru_layer_backward", <form_t>_gru_back, _BACK + ", kept: same copied")
offer("lstm_layer", <form_t>_lstm, _LAYER + ", cx: same copied, w_hr: none")
offer("lstm_layer_backward", <form_t>_lstm_back, _BACK + ", g_c: same copied optional, gates cells cx: same copied, w_hr: none")
