"""The native loops of recurrent layers; claygrad/ops/recurrent_layer.py says what they compute. What they do not serve is
answered with None: arrays of another kind, shapes that do not fit together, nothing to compute."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

cimport numpy as cnp

from claygrad.core.dtypes cimport F32, F64
from claygrad.core.kernels cimport Across, find, gemm, gemm_across

cdef extern from "recurrent.hpp" namespace "clay" nogil:
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

cnp.import_array()

cdef dict GATES = {"rnn": 1, "gru": 3, "lstm": 4}


cdef int _code(object array) noexcept:
    if not isinstance(array, cnp.ndarray) or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>array):
        return -1
    if (<cnp.ndarray>array).descr.type_num == cnp.NPY_FLOAT32:
        return F32
    return F64 if (<cnp.ndarray>array).descr.type_num == cnp.NPY_FLOAT64 else -1


cdef bint _fits(object array, int code, int64_t rows, int64_t width) noexcept:
    """Whether it is a matrix of this dtype and shape, or with no rows a vector; None fits everywhere."""
    if array is None:
        return True
    if _code(array) != code:
        return False
    cdef cnp.ndarray x = <cnp.ndarray>array
    if rows < 0:
        return cnp.PyArray_NDIM(x) == 1 and cnp.PyArray_DIM(x, 0) == width
    return cnp.PyArray_NDIM(x) == 2 and cnp.PyArray_DIM(x, 0) == rows and cnp.PyArray_DIM(x, 1) == width


cdef inline cnp.ndarray _block(object array):
    """As one block of memory, or None."""
    return None if array is None else cnp.PyArray_GETCONTIGUOUS(<cnp.ndarray>array)


cdef inline void* _data(cnp.ndarray array) noexcept:
    return NULL if array is None else cnp.PyArray_DATA(array)


cdef inline int64_t _bytes(int code, int64_t count) noexcept nogil:
    return count * (4 if code == F32 else 8)


cdef cnp.ndarray _empty(int code, int64_t rows, int64_t width):
    """A new matrix, or with no rows a vector."""
    cdef cnp.npy_intp[2] shape = [width if rows < 0 else rows, width]
    return cnp.PyArray_EMPTY(1 if rows < 0 else 2, shape, cnp.NPY_FLOAT32 if code == F32 else cnp.NPY_FLOAT64, 0)


cdef cnp.ndarray _copied(object state, int code, int64_t rows, int64_t width):
    """A block of its own with the values of another, or zeros for None."""
    cdef cnp.ndarray made = _empty(code, rows, width), from_ = _block(state)
    if from_ is None:
        memset(_data(made), 0, _bytes(code, rows * width))
    else:
        memcpy(_data(made), _data(from_), _bytes(code, rows * width))
    return made


cdef cnp.ndarray _sum_of(cnp.ndarray a, cnp.ndarray b, int code):
    """Of two biases, or the one that is there."""
    if a is None or b is None:
        return b if a is None else a
    cdef int64_t i, n = cnp.PyArray_SIZE(a)
    cdef cnp.ndarray made = _empty(code, -1, n)
    cdef void* x = _data(a)
    cdef void* y = _data(b)
    cdef void* z = _data(made)
    for i in range(n):
        if code == F32:
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


cdef bint _start(Sequence* s, _Steps steps, object sizes, bint reverse, object input, tuple states, object w_ih, object w_hh,
                 int64_t gates, int* code) except -1:
    """The shapes of a layer; False if they are not those of matrices that fit together."""
    cdef object hx = states[0], state
    code[0] = _code(input)
    if code[0] < 0 or cnp.PyArray_NDIM(<cnp.ndarray>input) != 2 or _code(hx) != code[0] or cnp.PyArray_NDIM(<cnp.ndarray>hx) != 2:
        return False
    s.features = cnp.PyArray_DIM(<cnp.ndarray>input, 1)
    s.batch, s.width = cnp.PyArray_DIM(<cnp.ndarray>hx, 0), cnp.PyArray_DIM(<cnp.ndarray>hx, 1)
    for state in states:
        if not _fits(state, code[0], s.batch, s.width):
            return False
    if not _fits(w_ih, code[0], gates * s.width, s.features) or not _fits(w_hh, code[0], gates * s.width, s.width):
        return False
    if type(sizes) is not tuple or not steps.take(<tuple>sizes, reverse, s.batch):
        return False
    s.first, s.size, s.steps = steps.places, steps.places + steps.count, steps.count
    return steps.rows > 0 and s.width > 0 and s.features > 0 and steps.rows == cnp.PyArray_DIM(<cnp.ndarray>input, 0)


def forward(str cell, sizes, bint reverse, input, tuple states, w_ih, w_hh, b_ih, b_hh, bint relu=False):
    """Out, the last states, and what backward asks for: nothing of an RNN, the gates of a GRU, gates and cells of an LSTM."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef int code
    cdef int64_t n, wide, G = GATES[cell]
    if not _start(&s, steps, sizes, reverse, input, states, w_ih, w_hh, G, &code):
        return None
    n, wide = steps.rows, G * s.width
    if not _fits(b_ih, code, -1, wide) or not _fits(b_hh, code, -1, wide):
        return None
    cdef bint gru = cell == "gru", lstm = cell == "lstm"
    cdef cnp.ndarray x = _block(input), by_x = _block(w_ih), by_h = _block(w_hh), bias = _block(b_ih), of_h = _block(b_hh)
    cdef cnp.ndarray out = _empty(code, n, s.width), h = _copied(states[0], code, s.batch, s.width), c = None, cells = None
    cdef cnp.ndarray gates = out, scratch = None
    if gru:
        gates, scratch = _empty(code, n, 4 * s.width), _empty(code, s.batch, wide)
    else:
        bias, of_h = _sum_of(bias, of_h, code), None
    if lstm:
        gates, cells, c = _empty(code, n, wide), _empty(code, n, s.width), _copied(states[1], code, s.batch, s.width)
    s.x, s.x_weight, s.x_bias = _data(x), _data(by_x), _data(bias)
    s.gates, s.out, s.cells, s.h, s.c, s.weight = _data(gates), _data(out), _data(cells), _data(h), _data(c), _data(by_h)
    s.bias, s.scratch, s.relu = _data(of_h), _data(scratch), relu
    s.start = s.g_out = s.made = s.beside = NULL
    cdef bytes name = cell.encode()
    cdef sequence_fn f = <sequence_fn>find("recurrent", name, code)
    with nogil:
        f(&s)
    if lstm:
        return out, h, c, gates, cells
    return (out, h, gates) if gru else (out, h)


cdef void _before(const Sequence* s, int code, const char* after, const char* start, char* made) noexcept nogil:
    """The rows of h before each step, given those after it and the state at the start."""
    cdef int64_t k, kept, size, row = _bytes(code, s.width)
    for k in range(s.steps):
        size = s.size[k]
        kept = 0 if k == 0 else size if size < s.size[k - 1] else s.size[k - 1]
        if kept > 0:
            memcpy(made + s.first[k] * row, after + s.first[k - 1] * row, kept * row)
        memcpy(made + (s.first[k] + kept) * row, start + kept * row, (size - kept) * row)


def backward(str cell, sizes, bint reverse, g_out, tuple g_states, tuple kept, input, tuple states, w_ih, w_hh, tuple needs,
             bint relu=False):
    """Gradients of input, states, both weights and both biases, empty where they are not needed. `kept` is what forward gave:
    out, and what follows the states."""
    cdef Sequence s
    cdef _Steps steps = _Steps.__new__(_Steps)
    cdef int code
    cdef int64_t n, wide, features, G = GATES[cell]
    cdef bint gru = cell == "gru", lstm = cell == "lstm"
    if not _start(&s, steps, sizes, reverse, input, states, w_ih, w_hh, G, &code):
        return None
    n, wide, features = steps.rows, G * s.width, s.features
    if not _fits(kept[0], code, n, s.width) or not _fits(g_out, code, n, s.width):
        return None
    for g in g_states:
        if not _fits(g, code, s.batch, s.width):
            return None
    if (gru or lstm) and not _fits(kept[1], code, n, 4 * s.width) or lstm and not _fits(kept[2], code, n, s.width):
        return None
    cdef cnp.ndarray x = _block(input), by_x = _block(w_ih), by_h = _block(w_hh), g_all = _block(g_out)
    cdef cnp.ndarray out = _block(kept[0]), gates = _block(kept[1]) if gru or lstm else None
    cdef cnp.ndarray cells = _block(kept[2]) if lstm else None, first = _block(states[0]), begun = None, c = None, beside = None
    cdef cnp.ndarray h = _copied(g_states[0], code, s.batch, s.width), made = _empty(code, n, wide)
    if lstm:
        c, begun = _copied(g_states[1], code, s.batch, s.width), _block(states[1])
    if gru:
        beside, begun = _empty(code, n, s.width), first
    s.gates, s.out, s.cells, s.h, s.c, s.weight = _data(gates), _data(out), _data(cells), _data(h), _data(c), _data(by_h)
    s.start, s.g_out, s.made, s.beside, s.relu = _data(begun), _data(g_all), _data(made), _data(beside), relu
    s.bias = s.scratch = s.x = s.x_weight = s.x_bias = NULL
    cdef bytes name = (cell + "_backward").encode()
    cdef sequence_fn f = <sequence_fn>find("recurrent", name, code)
    cdef int at = 2 if lstm else 1              # of the last state among what may be needed
    cdef cnp.ndarray to_x = _empty(code, n, features) if needs[0] else None
    cdef cnp.ndarray to_w = _empty(code, wide, features) if needs[at + 1] else None
    cdef cnp.ndarray to_u = _empty(code, wide, s.width) if needs[at + 2] else None
    cdef cnp.ndarray of_x = _empty(code, -1, wide) if needs[at + 3] else None
    cdef cnp.ndarray of_h = _empty(code, -1, wide) if needs[at + 4] else None
    cdef cnp.ndarray previous = _empty(code, n, s.width) if to_u is not None and not steps.even else None
    cdef void* dx = _data(to_x)
    cdef void* dw = _data(to_w)
    cdef void* du = _data(to_u)
    cdef void* px = _data(of_x)
    cdef void* ph = _data(of_h)
    cdef void* sums = ph if ph != NULL else px
    cdef char* old = <char*>_data(previous)
    cdef char* hx = <char*>_data(first)
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
            _before(&s, code, <const char*>s.out, hx, old)
            products[count] = Across(s.made, wide, old, s.width, du, wide, s.width, n, False)
            count += 1
        elif du != NULL:                         # the rows one step earlier, and the state at the start
            begin, end = s.first[0], s.batch if s.steps > 1 and s.first[1] > s.first[0] else 0
            products[count] = Across(<char*>s.made + _bytes(code, begin * wide), wide, hx, s.width, du, wide, s.width, s.batch, False)
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
    nothing = _empty(code, -1, 0)
    made_of = [nothing if g is None else g for g in (to_x, h, c, to_w, to_u, of_x, of_h)]
    if not lstm:
        del made_of[2]
    return tuple(made_of)
