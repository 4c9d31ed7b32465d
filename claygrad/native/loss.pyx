"""Native forms of nll_loss, cross_entropy, binary_cross_entropy and margin losses, for contiguous float32 and float64;
claygrad/ops/loss*.py has the definitions."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32
from claygrad.core.data.kernels cimport find, reduce_fn, reduce_lines
from claygrad.core.data.layout cimport Layout, fresh, fresh_like, same_shape
from claygrad.core.data.storage cimport Storage, new_storage
from claygrad.core.dispatch.guard cimport Arg, form_t, memory, numel_is
from claygrad.core.dispatch.registry cimport offer

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    struct CrossEntropy:
        int64_t rows, classes, ignored
        const void* x
        const int64_t* target
        void* loss
        void* kept
        const void* scale
        bint one_scale
        void* to_x

    ctypedef void (*cross_entropy_fn)(const CrossEntropy*) noexcept nogil

cdef extern from "elementwise/params.hpp" namespace "clay" nogil:
    ctypedef void (*shaped_fn)(const void*, const void*, const void*, void*, int64_t, int, double, double) noexcept nogil
    ctypedef void (*total_fn)(const void*, const void*, void*, int64_t, double, double, double) noexcept nogil

ctypedef fused real:
    float
    double

cdef enum:                # in the order of the declared reductions, none|sum|mean
    EACH = 0
    SUM = 1
    MEAN = 2

cdef struct NllLoss:
    Arg input, target, weight, reduction, ignore_index
cdef struct NllLossBackward:
    Arg grad_output, target, weight, reduction, ignore_index, shape
cdef struct RowsLoss:
    Arg input, target, reduction, ignore_index
cdef struct RowsLossBackward:
    Arg grad_output, input, target, kept, reduction, ignore_index
cdef struct BinaryLoss:
    Arg input, target, weight, reduction
cdef struct MultiMargin:
    Arg input, target, p, margin, weight, reduction
cdef struct MultiMarginBackward:
    Arg grad_output, input, target, p, margin, weight, reduction
cdef struct Multilabel:
    Arg input, target, reduction
cdef struct MultilabelBackward:
    Arg grad_output, input, target, reduction


cdef Layout _reduced(Layout each, int reduction, double by):
    """The losses, their sum, or their sum divided by a number."""
    cdef Layout out
    if reduction == EACH:
        return each
    out = fresh(each.dtype, 0, NULL)
    reduce_lines(<reduce_fn>find("reduce", "sum", each.dtype.code), each.data(), out.data(), 1, each.numel, 1)
    if reduction == MEAN:
        if each.dtype.code == F32:
            (<float*>out.data())[0] /= <float>by
        else:
            (<double*>out.data())[0] /= by
    return out


# --- nll_loss ----------------------------------------------------------------------------------------------------------
cdef struct Classes:
    int64_t rows, classes, positions, ignored      # scores (rows, classes, positions), a class for each row and position
    const int64_t* target
    const void* weight
    double counted                              # the sum of the weights of what is not ignored


cdef bint _classes(Classes* s, int ndim, const int64_t* shape, Layout target, Layout like, const Arg* weight, int64_t ignored) noexcept:
    """Fill in the sizes; False if they do not fit, or a class is out of range."""
    cdef int i, axis = 0 if ndim == 1 else 1
    cdef int64_t k, wanted, ignored_ones = 0, wrong = 0
    if ndim < 1 or target.ndim != ndim - 1:
        return False
    s.ignored, s.weight = ignored, NULL
    s.rows, s.classes, s.positions = 1 if ndim == 1 else shape[0], shape[axis], 1
    for i in range(ndim - 1):
        wanted = shape[i if i < axis else i + 1]
        if target.shape[i] != wanted:
            return False
        s.positions *= wanted if i >= axis else 1
    s.target, s.counted = <const int64_t*>target.data(), 0
    if s.classes < 1 or target.numel == 0 or weight != NULL and not numel_is(weight, s.classes):
        return False
    if weight != NULL:
        s.weight = memory(weight)
    for k in range(target.numel):
        ignored_ones += s.target[k] == s.ignored
        wrong += <uint64_t>s.target[k] >= <uint64_t>s.classes and s.target[k] != s.ignored
    if wrong:
        return False
    if s.weight == NULL:
        s.counted = target.numel - ignored_ones
        return True
    for k in range(target.numel):
        if s.target[k] != s.ignored:
            s.counted += (<const float*>s.weight)[s.target[k]] if like.dtype.code == F32 else (<const double*>s.weight)[s.target[k]]
    return True


cdef void _pick(Classes* s, const real* x, real* loss) noexcept nogil:
    cdef int64_t r, p, at
    cdef real weight
    for r in range(s.rows):
        for p in range(s.positions):
            at = s.target[r * s.positions + p]
            weight = 0 if at == s.ignored else 1 if s.weight == NULL else (<const real*>s.weight)[at]
            loss[r * s.positions + p] = 0 if weight == 0 else -x[(r * s.classes + at) * s.positions + p] * weight


cdef Layout _nll(Op op, NllLoss* a):
    cdef Layout x = <Layout>a.input.layout, classes = <Layout>a.target.layout, each
    cdef Classes s
    if not _classes(&s, x.ndim, x.shape, classes, x, &a.weight, a.ignore_index.value):
        return None
    each = fresh(x.dtype, classes.ndim, classes.shape)
    if x.dtype.code == F32:
        _pick[float](&s, <const float*>x.data(), <float*>each.data())
    else:
        _pick[double](&s, <const double*>x.data(), <double*>each.data())
    return _reduced(each, a.reduction.value, s.counted)


cdef void _place(Classes* s, const real* g, bint one, bint mean, real* out) noexcept nogil:
    cdef int64_t r, p, at
    cdef real weight
    memset(out, 0, s.rows * s.classes * s.positions * sizeof(real))
    for r in range(s.rows):
        for p in range(s.positions):
            at = s.target[r * s.positions + p]
            weight = 0 if at == s.ignored else 1 if s.weight == NULL else (<const real*>s.weight)[at]
            if weight != 0:
                weight = -g[0 if one else r * s.positions + p] * weight
                out[(r * s.classes + at) * s.positions + p] = weight / <real>s.counted if mean else weight


cdef Layout _nll_back(Op op, NllLossBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, classes = <Layout>a.target.layout, out
    cdef Classes s
    cdef int how = a.reduction.value
    if not _classes(&s, a.shape.value, a.shape.ints, classes, g, &a.weight, a.ignore_index.value):
        return None
    if g.numel != (classes.numel if how == EACH else 1):
        return None
    out = fresh(g.dtype, a.shape.value, a.shape.ints)
    if g.dtype.code == F32:
        _place[float](&s, <const float*>g.data(), how != EACH, how == MEAN, <float*>out.data())
    else:
        _place[double](&s, <const double*>g.data(), how != EACH, how == MEAN, <double*>out.data())
    return out


# --- cross entropy of rows -------------------------------------------------------------------------------------------------------
cdef bint _rows(Classes* c, CrossEntropy* s, Layout x, Layout target, int64_t ignored) noexcept:
    if not _classes(c, 2, x.shape, target, x, NULL, ignored):
        return False
    s.rows, s.classes, s.ignored, s.x, s.target = c.rows, c.classes, c.ignored, x.data(), c.target
    return True


cdef list _cross_entropy(Op op, RowsLoss* a):
    cdef Layout x = <Layout>a.input.layout, each, kept
    cdef Classes c
    cdef CrossEntropy s
    cdef int64_t shape[2]
    if not _rows(&c, &s, x, <Layout>a.target.layout, a.ignore_index.value):
        return None
    shape[0], shape[1] = 2, s.rows
    each, kept = fresh(x.dtype, 1, shape + 1), fresh(x.dtype, 2, shape)
    s.loss, s.kept = each.data(), kept.data()
    with nogil:
        (<cross_entropy_fn>find("loss", "forward", x.dtype.code))(&s)
    return [_reduced(each, a.reduction.value, c.counted), kept]


cdef Layout _cross_entropy_back(Op op, RowsLossBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, x = <Layout>a.input.layout, kept = <Layout>a.kept.layout, out
    cdef Classes c
    cdef CrossEntropy s
    cdef float single
    cdef double double_
    cdef int how = a.reduction.value
    if not _rows(&c, &s, x, <Layout>a.target.layout, a.ignore_index.value):
        return None
    if kept.numel != 2 * s.rows or g.numel != (s.rows if how == EACH else 1):
        return None
    s.kept, s.scale, s.one_scale = kept.data(), g.data(), how != EACH
    if how == MEAN:
        if x.dtype.code == F32:
            single = (<float*>g.data())[0] / <float>c.counted
            s.scale = &single
        else:
            double_ = (<double*>g.data())[0] / c.counted
            s.scale = &double_
    out = fresh_like(x)
    s.to_x = out.data()
    with nogil:
        (<cross_entropy_fn>find("loss", "backward", x.dtype.code))(&s)
    return out


# --- binary cross entropy -----------------------------------------------------------------------------------------------------------
cdef bint _probable(const real* x, int64_t n) noexcept nogil:
    """Whether all are between 0 and 1."""
    cdef int64_t i, wrong = 0
    for i in range(n):
        wrong += not (x[i] >= 0 and x[i] <= 1)
    return wrong == 0


cdef Layout _binary_cross_entropy(Op op, BinaryLoss* a):
    cdef Layout x = <Layout>a.input.layout, y = <Layout>a.target.layout, out
    cdef int how = a.reduction.value
    cdef bint fine
    if not same_shape(x, y):
        return None
    if x.dtype.code == F32:
        fine = _probable(<const float*>x.data(), x.numel) and _probable(<const float*>y.data(), x.numel)
    else:
        fine = _probable(<const double*>x.data(), x.numel) and _probable(<const double*>y.data(), x.numel)
    if not fine:
        return None                                # the reference raises the error
    if how == EACH:
        out = fresh_like(x)
        with nogil:
            (<shaped_fn>find("shaped", "bce", x.dtype.code))(x.data(), y.data(), NULL, out.data(), x.numel, 0, 0, 0)
        return out
    out = fresh(x.dtype, 0, NULL)
    with nogil:
        (<total_fn>find("total", "bce", x.dtype.code))(x.data(), y.data(), out.data(), x.numel,
                                                           1.0 / x.numel if how == MEAN else 1.0, 0, 0)
    return out


# --- margins -----------------------------------------------------------------------------------------------------------------------------
cdef bint _examples(Layout x, int64_t* rows, int64_t* classes) noexcept:
    """The sizes of (examples, classes), (classes) or ()."""
    if x.ndim > 2:
        return False
    rows[0] = x.shape[0] if x.ndim == 2 else 1
    classes[0] = x.numel // rows[0]
    return True


cdef real _above(const real* x, int64_t n, real smallest, int p) noexcept nogil:
    """The sum of what elements are above a number, or of its squares."""
    cdef int64_t k
    cdef real a = 0, b = 0, first, second
    for k in range(0, n - 1, 2):                   # two independent sums
        first, second = x[k] - smallest, x[k + 1] - smallest
        first, second = 0 if first <= 0 else first, 0 if second <= 0 else second
        a += first if p == 1 else first * first
        b += second if p == 1 else second * second
    if n % 2:
        first = x[n - 1] - smallest
        first = 0 if first <= 0 else first
        a += first if p == 1 else first * first
    return a + b


cdef real _excess(const real* x, int64_t n, int64_t right, int p, real margin, real weight, real scale, real* to_x) noexcept nogil:
    """The loss of one example; or, into to_x, scale times its gradient."""
    cdef int64_t k
    cdef real over, sum = 0, part = weight / <real>n, each
    if to_x == NULL:
        return (_above(x, right, x[right] - margin, p) + _above(x + right + 1, n - 1 - right, x[right] - margin, p)) * part
    for k in range(n):
        over = x[k] - x[right] + margin
        each = 0 if k == right or not over > 0 else (1 if p == 1 else 2 * over) * part
        if over != over and p == 2 and k != right:
            each = over
        to_x[k] = each * scale
        sum += each
    to_x[right] = -sum * scale
    return 0


cdef void _excesses(const real* x, const int64_t* right, const real* weight, const real* g, real* out, int64_t rows, int64_t n,
                    int p, real margin, int how) noexcept nogil:
    """The losses of all examples; with g, the gradients of their inputs."""
    cdef int64_t r
    cdef real by
    for r in range(rows):
        by = weight[right[r]] if weight != NULL else 1
        if g == NULL:
            out[r] = _excess(x + r * n, n, right[r], p, margin, by, <real>1, NULL)
        else:
            _excess(x + r * n, n, right[r], p, margin, by, g[r if how == EACH else 0] / (<real>rows if how == MEAN else 1), out + r * n)


cdef Layout _margins(MultiMargin* a, Layout g):
    cdef Layout x = <Layout>a.input.layout, classes = <Layout>a.target.layout, out
    cdef int64_t rows, n, r, p = a.p.value
    cdef const int64_t* right = <const int64_t*>classes.data()
    cdef const void* weight = memory(&a.weight)
    cdef const void* slope = NULL if g is None else g.data()
    cdef int how = a.reduction.value
    if not _examples(x, &rows, &n) or classes.numel != rows or p != 1 and p != 2 or not numel_is(&a.weight, n):
        return None
    if g is not None and g.numel != (rows if how == EACH else 1):
        return None
    for r in range(rows):
        if right[r] < 0 or right[r] >= n:
            return None
    out = fresh(x.dtype, 1 if classes.ndim == 1 or how != EACH else 0, &rows) if g is None else fresh_like(x)
    if x.dtype.code == F32:
        _excesses[float](<float*>x.data(), right, <float*>weight, <float*>slope, <float*>out.data(), rows, n, p, <float>a.margin.real, how)
    else:
        _excesses[double](<double*>x.data(), right, <double*>weight, <double*>slope, <double*>out.data(), rows, n, p, a.margin.real, how)
    return _reduced(out, how, rows) if g is None else out


cdef Layout _multi_margin(Op op, MultiMargin* a):
    return _margins(a, None)


cdef Layout _multi_margin_back(Op op, MultiMarginBackward* a):
    return _margins(<MultiMargin*>&a.input, <Layout>a.grad_output.layout)


cdef real _shortfall(const real* x, const int64_t* listed, int64_t n, real scale, real* to_x, int64_t* room) noexcept nogil:
    """The loss of one example with its list of right classes, which ends at -1; or, into to_x, scale times its gradient. `room`
    has 2 n elements for the wrong classes and their scores."""
    cdef int64_t j, k, right = 0, wrong = 0
    cdef int64_t* indices = room
    cdef real* others = <real*>(room + n)
    cdef real lack, largest, share = 1 / <real>n * scale
    cdef real sums[4]
    cdef int u
    cdef bint is_wrong
    memset(indices, 0, n * sizeof(int64_t))
    while right < n and listed[right] >= 0:
        indices[listed[right]] = 1
        right += 1
    for k in range(n):
        is_wrong = indices[k] == 0
        indices[wrong], others[wrong] = k, x[k]
        wrong += is_wrong
    sums[0] = sums[1] = sums[2] = sums[3] = 0
    if to_x != NULL:
        memset(to_x, 0, n * sizeof(real))
    for j in range(right):
        largest = 1 - x[listed[j]]
        if to_x == NULL:
            for k in range(0, wrong - 3, 4):
                for u in range(4):                       # four independent sums
                    lack = largest + others[k + u]
                    sums[u] += 0 if lack <= 0 else lack          # NaN too
            for k in range(wrong - wrong % 4, wrong):
                lack = largest + others[k]
                sums[0] += 0 if lack <= 0 else lack
            continue
        for k in range(wrong):
            if largest + others[k] > 0:
                to_x[indices[k]] += share
                to_x[listed[j]] -= share
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / <real>n


cdef bint _lists(Layout x, Layout target, int64_t* rows, int64_t* n) noexcept:
    """Whether there is a list of classes for each example."""
    cdef int64_t i
    cdef const int64_t* at
    if not _examples(x, rows, n) or target.numel != x.numel:
        return False
    if not same_shape(x, target) and (x.ndim == 2 or target.ndim > 1):
        return False
    at = <const int64_t*>target.data()
    for i in range(target.numel):
        if at[i] < -1 or at[i] >= n[0]:
            return False
    return True


cdef void _shortfalls(const real* x, const int64_t* listed, const real* g, real* out, int64_t rows, int64_t n, int how,
                      int64_t* room) noexcept nogil:
    cdef int64_t r
    for r in range(rows):
        if g == NULL:
            out[r] = _shortfall(x + r * n, listed + r * n, n, <real>1, NULL, room)
        else:
            _shortfall(x + r * n, listed + r * n, n, g[r if how == EACH else 0] / (<real>rows if how == MEAN else 1), out + r * n, room)


cdef Layout _margins_of_lists(Multilabel* a, Layout g):
    cdef Layout x = <Layout>a.input.layout, classes = <Layout>a.target.layout, out
    cdef const int64_t* listed = <const int64_t*>classes.data()
    cdef const void* slope = NULL if g is None else g.data()
    cdef int64_t rows, n
    cdef Storage room
    cdef int how = a.reduction.value
    if not _lists(x, classes, &rows, &n) or g is not None and g.numel != (rows if how == EACH else 1):
        return None
    out = fresh(x.dtype, 1 if x.ndim == 2 or how != EACH else 0, &rows) if g is None else fresh_like(x)
    room = new_storage(2 * n * sizeof(int64_t))
    if x.dtype.code == F32:
        _shortfalls[float](<float*>x.data(), listed, <float*>slope, <float*>out.data(), rows, n, how, <int64_t*>room.ptr)
    else:
        _shortfalls[double](<double*>x.data(), listed, <double*>slope, <double*>out.data(), rows, n, how, <int64_t*>room.ptr)
    return _reduced(out, how, rows) if g is None else out


cdef Layout _multilabel(Op op, Multilabel* a):
    return _margins_of_lists(a, None)


cdef Layout _multilabel_back(Op op, MultilabelBackward* a):
    return _margins_of_lists(<Multilabel*>&a.input, <Layout>a.grad_output.layout)


cdef str _REDUCTION = ", reduction: none|sum|mean"

offer("nll_loss", <form_t>_nll, "input: float, target: int64, weight: same optional" + _REDUCTION)
offer("nll_loss_backward", <form_t>_nll_back,
          "grad_output: float broadcast, target: int64, weight: same optional, shape: sizes" + _REDUCTION)
offer("cross_entropy", <form_t>_cross_entropy, "input: float copied 2d, target: int64 copied" + _REDUCTION)
offer("cross_entropy_backward", <form_t>_cross_entropy_back,
          "grad_output: float broadcast, input: same copied 2d, target: int64 copied, kept: same" + _REDUCTION)
offer("binary_cross_entropy", <form_t>_binary_cross_entropy, "input: float nonempty, target: same, weight: none" + _REDUCTION)
offer("multi_margin_loss", <form_t>_multi_margin, "input: float nonempty, target: int64 0-1d, weight: same optional" + _REDUCTION)
offer("multi_margin_loss_backward", <form_t>_multi_margin_back,
          "grad_output: float broadcast, input: same nonempty, target: int64, weight: same optional" + _REDUCTION)
offer("multilabel_margin_loss", <form_t>_multilabel, "input: float nonempty, target: int64" + _REDUCTION)
offer("multilabel_margin_loss_backward", <form_t>_multilabel_back,
          "grad_output: float broadcast, input: same nonempty, target: int64" + _REDUCTION)
