"""Native forms of unique and unique_consecutive. NaN is equal to nothing."""
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.op cimport Op
from claygrad.core.data.dtype cimport F32, F64, I64, of_code
from claygrad.core.data.layout cimport Layout, fresh
from claygrad.native.reduce cimport arranged
from claygrad.core.dispatch.guard cimport Arg, form_t
from claygrad.core.dispatch.registry cimport offer

cdef extern from "sort/sort.hpp" namespace "clay" nogil:
    enum Choice "clay::Choice":
        ASCENDING "clay::ASCENDING"
    ctypedef bint (*choose_fn)(const void*, void*, int64_t*, int64_t, int64_t, int64_t, int64_t, int) noexcept nogil
    choose_fn find_choice(int dtype) noexcept

ctypedef fused number:
    float
    double
    int64_t


cdef int64_t _runs(number* x, int64_t n, const int64_t* indices, int64_t* inverse, int64_t* counts) noexcept nogil:
    """Compact runs of equal numbers in place; fills in the inverse indices and the counts."""
    cdef int64_t i, run = 0, began = 0
    cdef number value = x[0]
    if inverse != NULL:
        inverse[0 if indices == NULL else indices[0]] = 0
    for i in range(1, n):
        if not x[i] == value:
            counts[run] = i - began
            began = i
            run += 1
            value = x[i]
        x[run] = value
        if inverse != NULL:
            inverse[i if indices == NULL else indices[i]] = run
    counts[run] = n - began
    return run + 1


cdef list _distinct(Layout x, bint sorted_first, bint with_inverse):
    """Values, inverse and counts; None where there is no kernel."""
    cdef int64_t outer, n, inner, count, none = 0
    cdef choose_fn f = find_choice(x.dtype.code)
    cdef Layout from_, line, indices = None, inverse, lengths, values, counts
    cdef int64_t* at = NULL
    cdef int64_t* to = NULL
    cdef bint done = True
    from_ = arranged(x, None, True, &outer, &n, &inner)
    if from_ is None:
        return None
    line, lengths = fresh(x.dtype, 1, &n), fresh(of_code(I64), 1, &n)
    if sorted_first:
        indices = fresh(of_code(I64), 1, &n)
        at = <int64_t*>indices.data()
        with nogil:
            done = f(from_.data(), line.data(), at, 1, n, 1, n, ASCENDING)
    else:
        memcpy(line.data(), from_.data(), n * x.dtype.itemsize)
    if not done:
        return None
    inverse = fresh(of_code(I64), x.ndim, x.shape) if with_inverse else fresh(of_code(I64), 1, &none)
    if with_inverse:
        to = <int64_t*>inverse.data()
    if x.dtype.code == F32:
        count = _runs(<float*>line.data(), n, at, to, <int64_t*>lengths.data())
    elif x.dtype.code == F64:
        count = _runs(<double*>line.data(), n, at, to, <int64_t*>lengths.data())
    else:
        count = _runs(<int64_t*>line.data(), n, at, to, <int64_t*>lengths.data())
    values, counts = fresh(x.dtype, 1, &count), fresh(of_code(I64), 1, &count)
    memcpy(values.data(), line.data(), count * x.dtype.itemsize)
    memcpy(counts.data(), lengths.data(), count * sizeof(int64_t))
    return [values, inverse, counts]


cdef struct Unique:
    Arg input, sorted, return_inverse, return_counts
cdef struct Consecutive:
    Arg input, return_inverse, return_counts, dim


cdef list _unique(Op op, Unique* a):
    return _distinct(<Layout>a.input.layout, True, a.return_inverse.value)


cdef list _neighbours(Op op, Consecutive* a):
    return _distinct(<Layout>a.input.layout, False, a.return_inverse.value)


offer("distinct", <form_t>_unique, "input: float int64 strided nonempty")
offer("distinct_neighbours", <form_t>_neighbours, "input: float int64 strided nonempty, dim: none")
