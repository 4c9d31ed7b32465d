"""Native forms of the distances between rows, for float32 and float64 in row-major order; claygrad/ops/products.py and
linalg_distance.py say what they compute."""
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32
from claygrad.core.data.kernels cimport find
from claygrad.core.data.layout cimport Layout, Lines, axis_in, fresh, fresh_like, lines_along, same_shape
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

cdef extern from "reduce/scan.hpp" namespace "clay" nogil:
    ctypedef void (*distances_fn)(const void*, const void*, void*, int64_t, int64_t, int64_t, int64_t, double) noexcept nogil
    ctypedef void (*between_back_fn)(const void*, const void*, const void*, void*, void*, int64_t, int64_t, int64_t, int64_t,
                                     double) noexcept nogil

cdef enum:
    ROWS = 64                # rows per block


ctypedef fused real:
    float
    double

cdef struct Between:
    Arg x1, x2, p
cdef struct BetweenBackward:
    Arg grad_output, x1, x2, out, p, needs
cdef struct Among:
    Arg input, p
cdef struct AmongBackward:
    Arg grad_output, input, out, p
cdef struct Cosine:
    Arg x1, x2, dim, eps


cdef int _measure(int code, double p, const void* x, const void* y, void* out, int64_t batch, int64_t m, int64_t n,
                  int64_t k) noexcept nogil:
    (<distances_fn>find("distance", "euclidean" if p == 2 else "norm", code))(x, y, out, batch, m, n, k, p)
    return 0


cdef Layout _between(Op op, Between* a):
    """The distances between rows of x1 and rows of x2, by the p-norm; an operation without a parameter p has p = 2."""
    cdef Layout x = <Layout>a.x1.layout, y = <Layout>a.x2.layout, out
    cdef int64_t shape[8]
    cdef int64_t x_steps[8]
    cdef int64_t y_steps[8]
    cdef int64_t at[8]
    cdef int64_t m, n, k, of_x, of_y, x_step, y_step, x_at = 0, y_at = 0, item, done, batch = 1
    cdef double p = a.p.real if op.n_params == 3 else 2
    cdef int i, last = max(x.ndim, y.ndim) - 1
    cdef bint same_batch = True
    m, n, k, item = x.shape[x.ndim - 2], y.shape[y.ndim - 2], x.shape[x.ndim - 1], x.dtype.itemsize
    if not p >= 0 or m * n * k == 0 or y.shape[y.ndim - 1] != k:
        return None
    x_step, y_step = m * k, n * k
    for i in range(last - 2, -1, -1):                # the leading axes, broadcast
        of_x = x.shape[i - last - 1 + x.ndim] if i > last - x.ndim else 1
        of_y = y.shape[i - last - 1 + y.ndim] if i > last - y.ndim else 1
        if of_x != of_y and of_x != 1 and of_y != 1:
            return None
        shape[i], at[i], same_batch = of_y if of_x == 1 else of_x, 0, same_batch and of_x == of_y
        x_steps[i], y_steps[i] = 0 if of_x == 1 else x_step, 0 if of_y == 1 else y_step
        x_step, y_step, batch = x_step * of_x, y_step * of_y, batch * shape[i]
    shape[last - 1], shape[last] = m, n
    out = fresh(x.dtype, last + 1, shape)
    with nogil:
        if same_batch:
            _measure(x.dtype.code, p, x.data(), y.data(), out.data(), batch, m, n, k)
            batch = 0
        for done in range(batch):
            _measure(x.dtype.code, p, x.data() + x_at * item, y.data() + y_at * item, out.data() + done * m * n * item, 1, m, n, k)
            i = last - 2
            while i >= 0:                            # the next of the batch
                at[i], x_at, y_at = at[i] + 1, x_at + x_steps[i], y_at + y_steps[i]
                if at[i] < shape[i]:
                    break
                x_at, y_at, at[i] = x_at - x_steps[i] * shape[i], y_at - y_steps[i] * shape[i], 0
                i -= 1
    return out


cdef Layout _among(Op op, Among* a):
    cdef Layout x = <Layout>a.input.layout, out, block
    cdef int64_t n, k, i, r, count, item, room, some, others
    cdef double p = a.p.real
    cdef char* into
    n, k, item = x.shape[0], x.shape[1], x.dtype.itemsize
    if not p >= 0 or k == 0:
        return None
    count = n * (n - 1) // 2 if n else 0
    out = fresh(x.dtype, 1, &count)
    into = out.data()
    room = (ROWS if n > ROWS else n) * n
    block = fresh(x.dtype, 1, &room)
    with nogil:
        i = 0
        while i < n - 1:
            some, others = ROWS if n - 1 - i > ROWS else n - 1 - i, n - 1 - i
            _measure(x.dtype.code, p, x.data() + i * k * item, x.data() + (i + 1) * k * item, block.data(), 1, some, others, k)
            for r in range(some):                  # row i + r and the rows after it
                memcpy(into, block.data() + (r * others + r) * item, (others - r) * item)
                into += (others - r) * item
            i += ROWS
    return out


cdef Layout _weights(Layout g, Layout d, double p):
    """The factor of each distance: its gradient; for p = 2 divided by the distance, or 0."""
    cdef Layout weight
    cdef int64_t i
    if p == 1:
        return g
    weight = fresh_like(g)
    for i in range(g.numel):
        if g.dtype.code == F32:
            (<float*>weight.data())[i] = 0 if (<float*>d.data())[i] == 0 else (<float*>g.data())[i] / (<float*>d.data())[i]
        else:
            (<double*>weight.data())[i] = 0 if (<double*>d.data())[i] == 0 else (<double*>g.data())[i] / (<double*>d.data())[i]
    return weight


cdef list _between_back(Op op, BetweenBackward* a):
    """The gradients of these distances for p = 1 and p = 2, if x1 and x2 have the same leading axes."""
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.x1.layout, y = <Layout>a.x2.layout, d = <Layout>a.out.layout, weight
    cdef Layout to_x, to_y
    cdef int64_t m, n, k, none = 0
    cdef double p = a.p.real
    cdef int i, last = x.ndim - 1
    cdef object needs = <object>a.needs.given
    if p != 1 and p != 2 or x.ndim != y.ndim:
        return None
    m, n, k = x.shape[last - 1], y.shape[last - 1], x.shape[last]
    for i in range(last - 1):
        if x.shape[i] != y.shape[i]:
            return None
    if y.shape[last] != k or g.numel != x.numel // k * n or d.numel != g.numel:
        return None
    weight = _weights(g, d, p)
    to_x = fresh_like(x) if needs[0] else fresh(x.dtype, 1, &none)
    to_y = fresh_like(y) if needs[1] else fresh(x.dtype, 1, &none)
    cdef void* into_x = to_x.data() if needs[0] else NULL
    cdef void* into_y = to_y.data() if needs[1] else NULL
    with nogil:
        (<between_back_fn>find("distance", "between_back", x.dtype.code))(x.data(), y.data(), weight.data(), into_x, into_y,
                                                                          x.numel // (m * k), m, n, k, p)
    return [to_x, to_y]


cdef void _cosines(const real* x, const real* y, real* out, int64_t outer, int64_t n, int64_t inner, real eps) noexcept nogil:
    cdef int64_t o, i, k, at
    cdef real a, b, both
    for o in range(outer):
        for i in range(inner):
            a = b = both = 0
            for k in range(n):
                at = (o * n + k) * inner + i
                a += x[at] * x[at]
                b += y[at] * y[at]
            a, b = sqrt(a), sqrt(b)
            a, b = eps if a < eps else a, eps if b < eps else b
            for k in range(n):
                at = (o * n + k) * inner + i
                both += (x[at] / a) * (y[at] / b)
            out[o * inner + i] = both


cdef Layout _cosine(Op op, Cosine* a):
    """cosine_similarity(x1, x2, dim, eps)"""
    cdef Layout x = <Layout>a.x1.layout, y = <Layout>a.x2.layout, out
    cdef int64_t shape[16]
    cdef int i, dim = axis_in(a.dim.value, x.ndim)
    cdef Lines s
    if not same_shape(x, y) or dim < 0 or a.eps.real < 0:
        return None
    s = lines_along(x.ndim, x.shape, dim)
    for i in range(x.ndim - 1):
        shape[i] = x.shape[i + (i >= dim)]
    out = fresh(x.dtype, x.ndim - 1, shape)
    if x.dtype.code == F32:
        _cosines[float](<float*>x.data(), <float*>y.data(), <float*>out.data(), s.outer, s.n, s.inner, a.eps.real)
    else:
        _cosines[double](<double*>x.data(), <double*>y.data(), <double*>out.data(), s.outer, s.n, s.inner, a.eps.real)
    return out


cdef Layout _among_back(Op op, AmongBackward* a):
    """The gradient of pdist for p = 1 and p = 2."""
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.input.layout, d = <Layout>a.out.layout, weight, result
    cdef double p = a.p.real
    if p != 1 and p != 2 or g.numel != x.shape[0] * (x.shape[0] - 1) // 2 or d.numel != g.numel:
        return None
    weight = _weights(g, d, p)
    result = fresh_like(x)
    with nogil:
        (<distances_fn>find("distance", "pairs_back", x.dtype.code))(x.data(), weight.data(), result.data(), 1, x.shape[0], 0,
                                                                          x.shape[1], p)
    return result


offer("cdist", <form_t>_between, "x1: float 2-8d, x2: same 2-8d")
offer("pdist", <form_t>_among, "input: float 2d")
offer("cdist_backward", <form_t>_between_back, "grad_output: float broadcast, x1 x2: same nonempty 2d+, out: same")
offer("cosine_similarity", <form_t>_cosine, "x1: float nonempty 1-16d, x2: same")
offer("pdist_backward", <form_t>_among_back, "grad_output: float broadcast, input: same nonempty 2d, out: same")
