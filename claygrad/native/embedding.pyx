"""Native forms of embedding and embedding_bag and their gradients, and of the sliding blocks of images; claygrad/ops/embedding.py,
bag.py and fold.py say what they compute."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, I64, of_code
from claygrad.core.data.kernels cimport find, take_rows
from claygrad.core.data.layout cimport Layout, check_dims, fresh
from claygrad.core.dispatch.guard cimport Arg, for_axes, form_t, memory, numel_is
from claygrad.core.dispatch.registry cimport offer

ctypedef fused real:
    float
    double

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    ctypedef bint (*add_rows_fn)(const void*, const int64_t*, void*, int64_t, int64_t, int64_t) noexcept nogil

cdef enum:
    SUM = 0
    MAX = 2

cdef extern from "nn/embedding_bag.hpp" namespace "clay" nogil:
    struct Bags:
        int64_t entries, bags, rows, width, padding, mode
        const int64_t* index
        const int64_t* starts
        const void* weight
        int64_t* bag
        int64_t* sizes
        int64_t* best

    ctypedef void (*bags_fn)(const Bags* bags, const void* from_, void* out) noexcept nogil


cdef bint _in_bags(Bags* s) noexcept nogil:
    """Fill in the bag of every index; False if the arguments are invalid."""
    cdef int64_t i, b, end
    cdef bint odd = False
    if s.bags < 1 or s.starts[0] != 0 or s.starts[s.bags - 1] > s.entries:
        return False
    for i in range(s.entries):
        odd |= <uint64_t>s.index[i] >= <uint64_t>s.rows
    for b in range(s.bags):
        end = s.starts[b + 1] if b + 1 < s.bags else s.entries
        odd |= end < s.starts[b]
    if odd:
        return False
    for b in range(s.bags):
        for i in range(s.starts[b], s.starts[b + 1] if b + 1 < s.bags else s.entries):
            s.bag[i] = b
    return True


cdef struct EmbeddingBag:
    Arg weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, scale_grad_by_freq, sparse
cdef struct EmbeddingBagBackward:
    Arg grad_output, indices, bags, sizes, best, per_sample_weights, num_weights, mode, padding_idx, scale_grad_by_freq
cdef struct Unfold:
    Arg input, kernel, dilation, padding, stride
cdef struct Fold:
    Arg input, size, kernel, dilation, padding, stride
cdef struct Embedding:
    Arg weight, indices, padding_idx, scale_grad_by_freq, sparse
cdef struct EmbeddingBackward:
    Arg grad_output, indices, num_weights, padding_idx, scale_grad_by_freq


cdef list _bagged(Op op, EmbeddingBag* a):
    cdef Layout table = <Layout>a.weight.layout, index = <Layout>a.indices.layout, offsets = <Layout>a.offsets.layout, out, bag, sizes, best
    cdef Bags s
    cdef int64_t shape[2]
    cdef int64_t count
    s.mode, s.padding, s.weight = a.mode.value, a.padding_idx.value, memory(&a.per_sample_weights)
    if not 0 <= s.mode <= MAX or not numel_is(&a.per_sample_weights, index.numel) or s.weight != NULL and s.mode != SUM:
        return None
    s.entries, s.rows, s.width, count = index.numel, table.shape[0], table.shape[1], offsets.numel
    s.bags = count - a.include_last_offset.value
    if s.bags < 1 or count and (<int64_t*>offsets.data())[count - 1] > s.entries:
        return None
    if count > 1 and (<int64_t*>offsets.data())[count - 1] < (<int64_t*>offsets.data())[count - 2]:
        return None
    bag = fresh(of_code(I64), 1, &s.entries)
    s.index, s.bag, s.starts = <const int64_t*>index.data(), <int64_t*>bag.data(), <const int64_t*>offsets.data()
    if not _in_bags(&s):
        return None
    shape[0], shape[1] = s.bags, s.width
    out, sizes = fresh(table.dtype, 2, shape), fresh(of_code(I64), 1, shape)
    best = fresh(of_code(I64), 2 if s.mode == MAX else 1, shape)
    s.sizes, s.best = <int64_t*>sizes.data(), <int64_t*>best.data()
    with nogil:
        (<bags_fn>find("bags", "fill", table.dtype.code))(&s, table.data(), out.data())
    if s.mode != MAX:
        memcpy(s.best, s.sizes, s.bags * sizeof(int64_t))
    return [out, bag, sizes, best]


cdef Layout _bag_back(Op op, EmbeddingBagBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, index = <Layout>a.indices.layout, bag = <Layout>a.bags.layout
    cdef Layout sizes = <Layout>a.sizes.layout, best = <Layout>a.best.layout, out
    cdef Bags s
    cdef int64_t shape[2]
    cdef int64_t i
    s.rows, s.mode, s.padding, s.weight = a.num_weights.value, a.mode.value, a.padding_idx.value, memory(&a.per_sample_weights)
    if not 0 <= s.mode <= MAX or bag.numel != index.numel or sizes.numel != g.shape[0] or s.rows < 1:
        return None
    s.entries, s.bags, s.width = index.numel, g.shape[0], g.shape[1]
    if not numel_is(&a.per_sample_weights, s.entries) or s.mode == MAX and best.numel != g.numel:
        return None
    s.index, s.bag, s.sizes, s.best = <int64_t*>index.data(), <int64_t*>bag.data(), <int64_t*>sizes.data(), <int64_t*>best.data()
    for i in range(s.entries):
        if not (0 <= s.index[i] < s.rows and 0 <= s.bag[i] < s.bags):
            return None
    for i in range(best.numel if s.mode == MAX else 0):
        if not 0 <= s.best[i] < s.rows:
            return None
    shape[0], shape[1] = s.rows, s.width
    out = fresh(g.dtype, 2, shape)
    with nogil:
        (<bags_fn>find("bags", "empty", g.dtype.code))(&s, g.data(), out.data())
    return out


# --- sliding blocks ---------------------------------------------------------------------------------------------------------------
cdef struct Blocks:
    int64_t size[2]
    int64_t kernel[2]
    int64_t dilation[2]
    int64_t padding[2]
    int64_t stride[2]
    int64_t out[2]


cdef bint _blocks(Blocks* s, const Arg* kernel, const Arg* dilation, const Arg* padding, const Arg* stride) noexcept:
    """The number of blocks along both axes; False if the arguments are invalid."""
    cdef int i
    cdef int64_t room
    if not (for_axes(kernel, 2, s.kernel) and for_axes(dilation, 2, s.dilation) and for_axes(padding, 2, s.padding)
            and for_axes(stride, 2, s.stride)):
        return False
    for i in range(2):
        room = s.size[i] + 2 * s.padding[i] - s.dilation[i] * (s.kernel[i] - 1) - 1
        if s.kernel[i] < 1 or s.dilation[i] < 1 or s.padding[i] < 0 or s.stride[i] < 1 or room < 0 or s.size[i] < 1:
            return False
        s.out[i] = room // s.stride[i] + 1
    return True


cdef void _columns(Blocks* s, int64_t planes, real* image, real* columns, bint back) noexcept nogil:
    """im2col of every plane; with `back`, col2im."""
    cdef int64_t p, i, j, r, q, y, x, low, high
    cdef int64_t step = s.stride[1]
    cdef real* row
    cdef real* line = columns
    for p in range(planes):
        for i in range(s.kernel[0]):
            for j in range(s.kernel[1]):
                x = j * s.dilation[1] - s.padding[1]
                low = (-x + step - 1) // step if x < 0 else 0
                high = (s.size[1] - x + step - 1) // step if s.size[1] > x else 0
                high = s.out[1] if high > s.out[1] else high
                low = high if low > high else low
                for r in range(s.out[0]):
                    y = r * s.stride[0] + i * s.dilation[0] - s.padding[0]
                    row = image + (p * s.size[0] + y) * s.size[1] + x
                    if y < 0 or y >= s.size[0]:
                        if not back:
                            memset(line, 0, s.out[1] * sizeof(real))
                    elif back:
                        for q in range(low, high):
                            row[q * step] += line[q]
                    else:
                        for q in range(low):
                            line[q] = 0
                        if step == 1:
                            memcpy(line + low, row + low, (high - low) * sizeof(real))
                        else:
                            for q in range(low, high):
                                line[q] = row[q * step]
                        for q in range(high, s.out[1]):
                            line[q] = 0
                    line += s.out[1]


cdef Layout _unfold(Op op, Unfold* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef Blocks s
    cdef int64_t shape[3]
    cdef int64_t planes
    s.size[0], s.size[1] = x.shape[x.ndim - 2], x.shape[x.ndim - 1]
    if x.shape[x.ndim - 3] < 1 or not _blocks(&s, &a.kernel, &a.dilation, &a.padding, &a.stride):
        return None
    shape[0], shape[1], shape[2] = x.shape[0], x.shape[x.ndim - 3] * s.kernel[0] * s.kernel[1], s.out[0] * s.out[1]
    out = fresh(x.dtype, x.ndim - 1, shape + (4 - x.ndim))
    planes = x.shape[x.ndim - 3] * (x.shape[0] if x.ndim == 4 else 1)
    with nogil:
        if x.dtype.code == F32:
            _columns[float](&s, planes, <float*>x.data(), <float*>out.data(), False)
        else:
            _columns[double](&s, planes, <double*>x.data(), <double*>out.data(), False)
    return out


cdef Layout _fold(Op op, Fold* a):
    cdef Layout x = <Layout>a.input.layout, out
    cdef Blocks s
    cdef int64_t shape[4]
    cdef int64_t each
    if not for_axes(&a.size, 2, s.size) or not _blocks(&s, &a.kernel, &a.dilation, &a.padding, &a.stride):
        return None
    each = s.kernel[0] * s.kernel[1]
    if x.shape[x.ndim - 2] < 1 or x.shape[x.ndim - 2] % each or x.shape[x.ndim - 1] != s.out[0] * s.out[1]:
        return None
    shape[0], shape[1], shape[2], shape[3] = x.shape[0], x.shape[x.ndim - 2] // each, s.size[0], s.size[1]
    out = fresh(x.dtype, x.ndim + 1, shape + (3 - x.ndim))
    memset(out.data(), 0, out.numel * out.dtype.itemsize)
    with nogil:
        if x.dtype.code == F32:
            _columns[float](&s, out.numel // (s.size[0] * s.size[1]), <float*>out.data(), <float*>x.data(), True)
        else:
            _columns[double](&s, out.numel // (s.size[0] * s.size[1]), <double*>out.data(), <double*>x.data(), True)
    return out


# --- embedding ----------------------------------------------------------------------------------------------------
cdef bint _below(Layout v, int64_t limit) noexcept:
    """Whether all numbers are from 0 on and below a limit."""
    cdef int64_t i
    cdef const int64_t* at = <const int64_t*>v.data()
    for i in range(v.numel):
        if at[i] < 0 or at[i] >= limit:
            return False
    return True


cdef Layout _embedding(Op op, Embedding* a):
    cdef Layout table = <Layout>a.weight.layout, numbers = <Layout>a.indices.layout, out
    cdef int64_t shape[64]
    cdef int64_t row
    cdef int i
    if not _below(numbers, table.shape[0]):
        return None
    check_dims(numbers.ndim + 1)
    for i in range(numbers.ndim):
        shape[i] = numbers.shape[i]
    shape[numbers.ndim] = table.shape[1]
    out = fresh(table.dtype, numbers.ndim + 1, shape)
    row = table.shape[1] * table.dtype.itemsize
    with nogil:
        take_rows(table.data(), <int64_t*>numbers.data(), out.data(), numbers.numel, table.shape[0], row)
    return out


cdef Layout _embedding_back(Op op, EmbeddingBackward* a):
    cdef Layout g = <Layout>a.grad_output.layout, numbers = <Layout>a.indices.layout, out
    cdef int64_t shape[2]
    cdef int64_t padding = a.padding_idx.value, width = g.shape[g.ndim - 1]
    cdef add_rows_fn f
    cdef bint done
    shape[0] = a.num_weights.value
    if shape[0] < 1 or width == 0 or g.numel != numbers.numel * width or not _below(numbers, shape[0]):
        return None
    shape[1] = width
    out = fresh(g.dtype, 2, shape)
    f = <add_rows_fn>find("select", "add_rows", g.dtype.code)
    with nogil:
        done = f(g.data(), <int64_t*>numbers.data(), out.data(), numbers.numel, shape[0], width)
    if done and 0 <= padding < shape[0]:
        memset(out.data() + padding * width * g.dtype.itemsize, 0, width * g.dtype.itemsize)
    return out if done else None


offer("embedding_bag", <form_t>_bagged,
              "weight: float nonempty 2d, indices offsets: int64 1d, per_sample_weights: same optional, sparse: false")
offer("embedding_bag_backward", <form_t>_bag_back, "grad_output: float broadcast nonempty 2d, indices: int64 1d, "
          "bags sizes best: int64, per_sample_weights: same optional, scale_grad_by_freq: false")
offer("im2col", <form_t>_unfold, "input: float broadcast 3-4d")
offer("col2im", <form_t>_fold, "input: float broadcast 2-3d")
offer("embedding", <form_t>_embedding, "weight: any nonempty 2d, indices: int64 copied nonempty 0-30d, sparse: false")
offer("embedding_backward", <form_t>_embedding_back,
          "grad_output: float 1d+, indices: int64 copied nonempty 0-30d, scale_grad_by_freq: false")
