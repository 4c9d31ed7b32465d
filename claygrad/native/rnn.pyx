"""The native loops of recurrent layers; claygrad/ops/recurrent_layer.py says what they compute. What they do not serve is
answered with None: tensors of another kind, shapes that do not fit together, nothing to compute."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, dtype
from claygrad.core.data.kernels cimport Across, find, gemm, gemm_across
from claygrad.core.data.layout cimport Layout, fresh, in_order
from claygrad.core.tensor cimport Tensor
from claygrad.core.dispatch.registry cimport offer_many

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
        void* made
        void* beside
        int relu

    ctypedef void (*sequence_fn)(const Sequence*) noexcept nogil

cdef enum:
    RNN, GRU, LSTM


cdef object _taken(object x):
    """The layout of a tensor that the loops can read, None for None, False for anything else."""
    cdef Layout v
    if x is None:
        return None
    if not isinstance(x, Tensor):
        return False
    v = (<Tensor>x).layout
    return v if (v.dtype.code == F32 or v.dtype.code == F64) else False


cdef bint _fits(object given, dtype kind, int64_t rows, int64_t width) noexcept:
    """Whether it is a matrix of this dtype and shape, or with no rows a vector; None fits everywhere."""
    cdef Layout v
    if given is None:
        return True
    if not isinstance(given, Layout):
        return False
    v = <Layout>given
    if v.dtype is not kind or v.ndim != (1 if rows < 0 else 2) or v.shape[v.ndim - 1] != width:
        return False
    return rows < 0 or v.shape[0] == rows


cdef inline Layout _block(object given):
    """As one block of memory, or None."""
    return None if given is None else in_order(<Layout>given)


cdef inline void* _data(Layout v) noexcept:
    return NULL if v is None else v.data()


cdef inline int64_t _bytes(int code, int64_t count) noexcept nogil:
    return count * (4 if code == F32 else 8)


cdef Layout _empty(dtype kind, int64_t rows, int64_t width):
    """A new matrix, or with no rows a vector."""
    cdef int64_t[2] shape = [width if rows < 0 else rows, width]
    return fresh(kind, 1 if rows < 0 else 2, shape)


cdef Layout _copied(object state, dtype kind, int64_t rows, int64_t width):
    """A block of its own with the values of another, or zeros for None."""
    cdef Layout made = _empty(kind, rows, width), from_ = _block(state)
    if from_ is None:
        memset(made.data(), 0, _bytes(kind.code, rows * width))
    else:
        memcpy(made.data(), from_.data(), _bytes(kind.code, rows * width))
    return made


cdef Layout _sum_of(Layout a, Layout b):
    """Of two biases, or the one that is there."""
    if a is None or b is None:
        return b if a is None else a
    cdef int64_t i
    cdef Layout made = _empty(a.dtype, -1, a.numel)
    cdef char* x = a.data()
    cdef char* y = b.data()
    cdef char* z = made.data()
    for i in range(a.numel):
        if a.dtype.code == F32:
            (<float*>z)[i] = (<float*>x)[i] + (<float*>y)[i]
        else:
            (<double*>z)[i] = (<double*>x)[i] + (<double*>y)[i]
    return made


cdef class _Steps:
    """First row and number of rows of each step, in the order in which they are taken."""
    cdef int64_t* places
    cdef int64_t count, rows
    cdef bint even                      # all steps have a row for each sequence

    def __dealloc__(self):
        PyMem_Free(self.places)

    cdef bint take(self, tuple sizes, bint reverse, int64_t batch) except -1:
        """False if the sizes are not those of a batch that shrinks."""
        cdef int64_t k, at, size, before = batch
        self.count = len(sizes)
        self.places = <int64_t*>PyMem_Malloc(2 * (self.count + 1) * sizeof(int64_t))
        if self.places == NULL:
            raise MemoryError()
        self.rows, self.even = 0, True
        for k in range(self.count):
            size = sizes[k]
            if not 0 <= size <= before:
                return False
            at = self.count - 1 - k if reverse else k
            self.places[at], self.places[self.count + at] = self.rows, size
            self.rows += size
            self.even = self.even and size == batch
            before = size
        return True


cdef bint _start(Sequence* s, _Steps steps, object sizes, bint reverse, object input, object hx, object cx, object w_ih, object w_hh,
                 int64_t gates) except -1:
    """The shapes of a layer; False if they are not those of matrices that fit together."""
    cdef dtype kind
    if not isinstance(input, Layout) or not isinstance(hx, Layout) or (<Layout>input).ndim != 2 or (<Layout>hx).ndim != 2:
        return False
    kind = (<Layout>input).dtype
    s.features, s.batch, s.width = (<Layout>input).shape[1], (<Layout>hx).shape[0], (<Layout>hx).shape[1]
    if not _fits(hx, kind, s.batch, s.width) or not _fits(cx, kind, s.batch, s.width):
        return False
    if not _fits(w_ih, kind, gates * s.width, s.features) or not _fits(w_hh, kind, gates * s.width, s.width):
        return False
    if type(sizes) is not tuple or not steps.take(<tuple>sizes, reverse, s.batch):
        return False
    s.first, s.size, s.steps = steps.places, steps.places + steps.count, steps.count
    return steps.rows > 0 and s.width > 0 and s.features > 0 and steps.rows == (<Layout>input).shape[0]


cdef list _forward(int cell, object sizes, bint reverse, object input, object hx, object cx, object w_ih, object w_hh, object b_ih,
                   object b_hh, bint relu):
    """Out, the last states, and what backward asks for: nothing of an RNN, the gates of a GRU, gates and cells of an LSTM."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef dtype kind
    cdef int64_t n, wide, G = 4 if cell == LSTM else 3 if cell == GRU else 1
    if not _start(&s, steps, sizes, reverse, input, hx, cx, w_ih, w_hh, G):
        return None
    n, wide, kind = steps.rows, G * s.width, (<Layout>input).dtype
    if not _fits(b_ih, kind, -1, wide) or not _fits(b_hh, kind, -1, wide):
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
    s.start = s.g_out = s.made = s.beside = NULL
    cdef sequence_fn f = <sequence_fn>find("recurrent", "lstm" if cell == LSTM else "gru" if cell == GRU else "rnn", kind.code)
    with nogil:
        f(&s)
    return [out, h, c, gates, cells] if cell == LSTM else [out, h, gates] if cell == GRU else [out, h]


cdef void _before(const Sequence* s, int code, const char* after, const char* start, char* made) noexcept nogil:
    """The rows of h before each step, given those after it and the state at the start."""
    cdef int64_t k, kept, size, row = _bytes(code, s.width)
    for k in range(s.steps):
        size = s.size[k]
        kept = 0 if k == 0 else size if size < s.size[k - 1] else s.size[k - 1]
        if kept > 0:
            memcpy(made + s.first[k] * row, after + s.first[k - 1] * row, kept * row)
        memcpy(made + (s.first[k] + kept) * row, start + kept * row, (size - kept) * row)


cdef list _backward(int cell, object sizes, bint reverse, object g_out, object g_h, object g_c, object kept, object kept_gates,
                    object kept_cells, object input, object hx, object cx, object w_ih, object w_hh, tuple needs, bint relu):
    """Gradients of input, states, both weights and both biases, empty where they are not needed. What forward gave is kept: out,
    and what follows the states."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef bint gru = cell == GRU, lstm = cell == LSTM
    cdef int code, at = 2 if lstm else 1          # of the last state among what may be needed
    cdef dtype kind
    cdef int64_t n, wide, features, G = 4 if lstm else 3 if gru else 1
    if len(needs) < at + 5 or not _start(&s, steps, sizes, reverse, input, hx, cx, w_ih, w_hh, G):
        return None
    n, wide, features, kind = steps.rows, G * s.width, s.features, (<Layout>input).dtype
    code = kind.code
    if not _fits(kept, kind, n, s.width) or not _fits(g_out, kind, n, s.width):
        return None
    if not _fits(g_h, kind, s.batch, s.width) or not _fits(g_c, kind, s.batch, s.width):
        return None
    if not _fits(kept_gates, kind, n, 4 * s.width) or not _fits(kept_cells, kind, n, s.width):
        return None
    cdef Layout x = _block(input), by_x = _block(w_ih), by_h = _block(w_hh), g_all = _block(g_out), out = _block(kept)
    cdef Layout gates = _block(kept_gates), cells = _block(kept_cells), first = _block(hx), begun = None, c = None, beside = None
    cdef Layout h = _copied(g_h, kind, s.batch, s.width), made = _empty(kind, n, wide)
    if lstm:
        c, begun = _copied(g_c, kind, s.batch, s.width), _block(cx)
    if gru:
        beside, begun = _empty(kind, n, s.width), first
    s.gates, s.out, s.cells, s.h, s.c, s.weight = _data(gates), _data(out), _data(cells), _data(h), _data(c), _data(by_h)
    s.start, s.g_out, s.made, s.beside, s.relu = _data(begun), _data(g_all), _data(made), _data(beside), relu
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
    # A GRU's n has a gradient of its own for the part of x: `own` columns are those of h too.
    cdef int64_t own = 2 * s.width if gru else wide, rest = wide - own, begin, end, row = _bytes(code, s.width)
    cdef Across[6] products
    cdef int count = 0
    with nogil:
        f(&s)
        if dx != NULL:
            gemm(code, False, False, n, features, own, s.made, wide, b, features, dx, features, False)
            if gru:
                gemm(code, False, False, n, features, rest, s.beside, rest, b + _bytes(code, own * features), features, dx,
                     features, True)
        if dw != NULL:
            products[count] = Across(s.made, wide, a, features, dw, own, features, n, False)
            count += 1
            if gru:
                products[count] = Across(s.beside, rest, a, features, <char*>dw + _bytes(code, own * features), rest, features, n, False)
                count += 1
        if du != NULL and old != NULL:
            _before(&s, code, <const char*>s.out, start, old)
            products[count] = Across(s.made, wide, old, s.width, du, wide, s.width, n, False)
            count += 1
        elif du != NULL:                         # the rows one step earlier, and the state at the start
            begin, end = s.first[0], s.batch if s.steps > 1 and s.first[1] > s.first[0] else 0
            products[count] = Across(<char*>s.made + _bytes(code, begin * wide), wide, start, s.width, du, wide, s.width, s.batch, False)
            products[count + 1] = Across(<char*>s.made + _bytes(code, end * wide), wide, <char*>s.out + (s.batch - end) * row, s.width,
                                         du, wide, s.width, n - s.batch, True)
            count += 2
        if sums != NULL:
            products[count] = Across(s.made, wide, NULL, 0, sums, wide if ph != NULL else own, 1, n, False)
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


cdef inline object _at(PyObject* slot):
    return _taken(<object>slot)


cdef list _rnn(Op op, PyObject** slots):
    """(input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse, relu)"""
    return _forward(RNN, <object>slots[6], <object>slots[7], _at(slots[0]), _at(slots[1]), None, _at(slots[2]), _at(slots[3]),
                    _at(slots[4]), _at(slots[5]), <object>slots[8])


cdef list _gru(Op op, PyObject** slots):
    """(input, hx, w_ih, w_hh, b_ih, b_hh, sizes, reverse)"""
    return _forward(GRU, <object>slots[6], <object>slots[7], _at(slots[0]), _at(slots[1]), None, _at(slots[2]), _at(slots[3]),
                    _at(slots[4]), _at(slots[5]), False)


cdef list _lstm(Op op, PyObject** slots):
    """(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse)"""
    if <object>slots[7] is not None:
        return None
    return _forward(LSTM, <object>slots[8], <object>slots[9], _at(slots[0]), _at(slots[1]), _at(slots[2]), _at(slots[3]), _at(slots[4]),
                    _at(slots[5]), _at(slots[6]), False)


cdef list _rnn_back(Op op, PyObject** slots):
    """(g_out, g_h, out, input, hx, w_ih, w_hh, sizes, reverse, relu, needs)"""
    return _backward(RNN, <object>slots[7], <object>slots[8], _at(slots[0]), _at(slots[1]), None, _at(slots[2]), None, None,
                     _at(slots[3]), _at(slots[4]), None, _at(slots[5]), _at(slots[6]), <object>slots[10], <object>slots[9])


cdef list _gru_back(Op op, PyObject** slots):
    """(g_out, g_h, out, kept, input, hx, w_ih, w_hh, sizes, reverse, needs)"""
    return _backward(GRU, <object>slots[8], <object>slots[9], _at(slots[0]), _at(slots[1]), None, _at(slots[2]), _at(slots[3]), None,
                     _at(slots[4]), _at(slots[5]), None, _at(slots[6]), _at(slots[7]), <object>slots[10], False)


cdef list _lstm_back(Op op, PyObject** slots):
    """(g_out, g_h, g_c, out, gates, cells, input, hx, cx, w_ih, w_hh, w_hr, sizes, reverse, needs)"""
    cdef list made
    if <object>slots[11] is not None:
        return None
    made = _backward(LSTM, <object>slots[12], <object>slots[13], _at(slots[0]), _at(slots[1]), _at(slots[2]), _at(slots[3]),
                     _at(slots[4]), _at(slots[5]), _at(slots[6]), _at(slots[7]), _at(slots[8]), _at(slots[9]), _at(slots[10]),
                     <object>slots[14], False)
    if made is not None:
        made.append(_empty((<Layout>made[0]).dtype, -1, 0))      # of the projection that is not there
    return made


offer_many("rnn_layer", _rnn)
offer_many("rnn_layer_backward", _rnn_back)
offer_many("gru_layer", _gru)
offer_many("gru_layer_backward", _gru_back)
offer_many("lstm_layer", _lstm)
offer_many("lstm_layer_backward", _lstm_back)
