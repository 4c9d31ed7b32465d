"""The native loops of normalisations, cross entropy, running sums, choices and sorting. The declarations in claygrad/ops say
what they compute; every function here answers False or None when there is no kernel for such arrays."""
from libc.stdint cimport int64_t, uint8_t

import numpy

cimport numpy as cnp

from claygrad.native.arrays cimport NO_CODE, code_of, empty_like, split
from claygrad.core.data.dtype cimport F32, F64, I16, I64, U8
from claygrad.core.data.kernels cimport find, reduce_fn, reduce_lines, take_rows

cdef extern from "nn/norm.hpp" namespace "clay" nogil:
    ctypedef bint (*variance_fn)(const void*, void*, void*, int64_t, int64_t, int64_t, double) noexcept nogil
    ctypedef void (*scan_fn)(const void*, void*, int64_t, int64_t, int64_t, bint) noexcept nogil
    ctypedef void (*where_fn)(const uint8_t*, const void*, const void*, void*, int64_t, int64_t, int64_t) noexcept nogil

cnp.import_array()

cdef bint _take(object array, int code, int64_t size, void** into) noexcept:
    """The memory of an array of this dtype and size, or none for None."""
    into[0] = NULL
    if array is None:
        return True
    if code_of(array) != code or cnp.PyArray_SIZE(<cnp.ndarray>array) != size:
        return False
    into[0] = cnp.PyArray_DATA(<cnp.ndarray>array)
    return True


cdef inline object _new(object like, int64_t n):
    return cnp.PyArray_EMPTY(1, <cnp.npy_intp*>&n, (<cnp.ndarray>like).descr.type_num, 0)


def norm(str name, x, *, int64_t examples, int64_t channels, int64_t places=1, int64_t groups=1, double eps=0, bint given=False,
         g=None, weight=None, bias=None, out=None, mean=None, rstd=None, variance=None, to_x=None, to_weight=None,
         to_bias=None):
    """Run a kernel of kernels/nn/norm.hpp's family "norm"; `out`, the moments and what begins with `to_` are written."""
    cdef Norm s
    cdef int code = code_of(x)
    cdef int64_t size = examples * channels * places
    cdef int64_t stats = examples if name[0] == "l" else channels if name[0] == "b" else examples * groups
    cdef bytes kernel = name.encode()
    cdef bint done
    cdef norm_fn f
    if code < 0 or size == 0 or groups < 1 or channels % groups:
        return False
    f = <norm_fn>find("norm", kernel, code)
    if f == NULL:
        return False
    s.examples, s.channels, s.places, s.groups, s.eps, s.given = examples, channels, places, groups, eps, given
    if not (_take(x, code, size, <void**>&s.x) and _take(g, code, size, <void**>&s.g) and _take(out, code, size, &s.out)
            and _take(to_x, code, size, &s.to_x) and _take(weight, code, channels, <void**>&s.weight)
            and _take(bias, code, channels, <void**>&s.bias) and _take(to_weight, code, channels, &s.to_weight)
            and _take(to_bias, code, channels, &s.to_bias) and _take(mean, code, stats, &s.mean)
            and _take(rstd, code, stats, &s.rstd) and _take(variance, code, stats, &s.variance)):
        return False
    if s.rstd == NULL or (s.mean == NULL and name[0] != "l"):
        return False
    if name[len(name) - 7:] == "forward":
        if s.out == NULL or (name[0] == "b" and not given and s.variance == NULL):
            return False
    elif s.g == NULL:
        return False
    with nogil:
        done = f(&s)
    return done


def layer_norm(x, int64_t examples, int64_t n, double eps, weight, bias, bint centred):
    """The "layer_forward" kernel with its results made here: out, mean (None if not `centred`), rstd and None; or None."""
    cdef Norm s
    cdef int code = code_of(x)
    cdef norm_fn f
    if code != F32 and code != F64 or examples * n == 0:
        return None
    f = <norm_fn>find("norm", "layer_forward", code)
    s.examples, s.channels, s.places, s.groups, s.eps, s.given = examples, n, 1, 1, eps, False
    if f == NULL or not (_take(x, code, examples * n, <void**>&s.x) and _take(weight, code, n, <void**>&s.weight)
                         and _take(bias, code, n, <void**>&s.bias)):
        return None
    out, rstd, mean = empty_like(<cnp.ndarray>x), _new(x, examples), _new(x, examples) if centred else None
    s.out, s.rstd = cnp.PyArray_DATA(<cnp.ndarray>out), cnp.PyArray_DATA(<cnp.ndarray>rstd)
    s.mean = cnp.PyArray_DATA(<cnp.ndarray>mean) if centred else NULL
    with nogil:
        f(&s)
    return out, mean, rstd, None


def blend(x, y, double of_x, double of_y):
    """x * of_x + y * of_y, in the shape of x; or None."""
    cdef int code = code_of(x)
    cdef int64_t i, n
    if code != F32 and code != F64 or code_of(y) != code:
        return None
    n = cnp.PyArray_SIZE(<cnp.ndarray>x)
    if cnp.PyArray_SIZE(<cnp.ndarray>y) != n:
        return None
    out = empty_like(<cnp.ndarray>x)
    cdef void* a = cnp.PyArray_DATA(<cnp.ndarray>x)
    cdef void* b = cnp.PyArray_DATA(<cnp.ndarray>y)
    cdef void* c = cnp.PyArray_DATA(<cnp.ndarray>out)
    for i in range(n):
        if code == F32:
            (<float*>c)[i] = (<float*>a)[i] * <float>of_x + (<float*>b)[i] * <float>of_y
        else:
            (<double*>c)[i] = (<double*>a)[i] * of_x + (<double*>b)[i] * of_y
    return out


def variance(x, int64_t outer, int64_t n, int64_t inner, double correction):
    """Variance and mean over the middle axis of (outer, n, inner), each flat; or None."""
    cdef int code = code_of(x)
    cdef variance_fn f
    cdef bint done
    if (code != F32 and code != F64) or cnp.PyArray_SIZE(<cnp.ndarray>x) != outer * n * inner or outer * n * inner == 0:
        return None
    f = <variance_fn>find("variance", "variance", code)
    if f == NULL:
        return None
    spread, mean = _new(x, outer * inner), _new(x, outer * inner)
    cdef void* from_ = cnp.PyArray_DATA(<cnp.ndarray>x)
    cdef void* a = cnp.PyArray_DATA(<cnp.ndarray>spread)
    cdef void* b = cnp.PyArray_DATA(<cnp.ndarray>mean)
    with nogil:
        done = f(from_, a, b, outer, n, inner, correction)
    return (spread, mean) if done else None


cdef int64_t _wrong(const int64_t* target, int64_t rows, int64_t classes, int64_t ignored, int64_t* counted) noexcept nogil:
    """The first row whose class there is not, or -1; and how many rows are not ignored."""
    cdef int64_t r
    counted[0] = 0
    for r in range(rows):
        if target[r] != ignored:
            if target[r] < 0 or target[r] >= classes:
                return r
            counted[0] += 1
    return -1


cdef bint _scores(CrossEntropy* s, object x, object target) noexcept:
    """Take scores (rows, classes) and an int64 class of each row."""
    cdef int code = code_of(x)
    if (code != F32 and code != F64) or code_of(target) != I64 or cnp.PyArray_NDIM(<cnp.ndarray>x) != 2:
        return False
    s.rows, s.classes = cnp.PyArray_DIM(<cnp.ndarray>x, 0), cnp.PyArray_DIM(<cnp.ndarray>x, 1)
    s.x, s.target = cnp.PyArray_DATA(<cnp.ndarray>x), <const int64_t*>cnp.PyArray_DATA(<cnp.ndarray>target)
    return s.rows > 0 and s.classes > 0 and cnp.PyArray_SIZE(<cnp.ndarray>target) == s.rows


def cross_entropy(x, target, str reduction, int64_t ignored):
    """The loss of scores (rows, classes) with an int64 class each, and what its gradient needs (2, rows); or None. A class
    that there is not is refused."""
    cdef CrossEntropy s
    cdef int code = code_of(x)
    cdef cross_entropy_fn f
    cdef int64_t wrong, counted
    cdef cnp.npy_intp shape[2]
    if not _scores(&s, x, target):
        return None
    s.ignored = ignored
    f = <cross_entropy_fn>find("loss", "forward", code)
    wrong = _wrong(s.target, s.rows, s.classes, ignored, &counted)
    if wrong >= 0:
        raise IndexError(f"Target {s.target[wrong]} is out of bounds.")
    shape[0], shape[1] = 2, s.rows
    loss, kept = _new(x, s.rows), cnp.PyArray_EMPTY(2, shape, (<cnp.ndarray>x).descr.type_num, 0)
    s.loss, s.kept = cnp.PyArray_DATA(<cnp.ndarray>loss), cnp.PyArray_DATA(<cnp.ndarray>kept)
    with nogil:
        f(&s)
    return _reduced(loss, reduction, counted), kept


cdef object _reduced(object loss, str reduction, int64_t counted):
    """A loss for each row as it is, their sum, or their mean over the rows that count."""
    cdef int code = code_of(loss)
    cdef cnp.npy_intp* no_axes = NULL
    if reduction == "none":
        return loss
    total = cnp.PyArray_EMPTY(0, no_axes, (<cnp.ndarray>loss).descr.type_num, 0)
    cdef void* into = cnp.PyArray_DATA(<cnp.ndarray>total)
    reduce_lines(<reduce_fn>find("reduce", "sum", code), cnp.PyArray_DATA(<cnp.ndarray>loss), into, 1,
                 cnp.PyArray_SIZE(<cnp.ndarray>loss), 1)
    if reduction == "mean":
        if code == F32:
            (<float*>into)[0] /= <float>counted
        else:
            (<double*>into)[0] /= <double>counted
    return total


def picked(x, target, str reduction, int64_t ignored):
    """Minus the entry of each row (rows, classes) at its class, reduced; or None."""
    cdef CrossEntropy s
    cdef int code = code_of(x)
    cdef int64_t r, counted
    if not _scores(&s, x, target) or _wrong(s.target, s.rows, s.classes, ignored, &counted) >= 0:
        return None
    loss = _new(x, s.rows)
    s.loss = cnp.PyArray_DATA(<cnp.ndarray>loss)
    for r in range(s.rows):
        if code == F32:
            (<float*>s.loss)[r] = 0 if s.target[r] == ignored else -(<const float*>s.x)[r * s.classes + s.target[r]]
        else:
            (<double*>s.loss)[r] = 0 if s.target[r] == ignored else -(<const double*>s.x)[r * s.classes + s.target[r]]
    return _reduced(loss, reduction, counted)


def placed(g, target, str reduction, int64_t ignored, tuple shape):
    """Minus g at the class of each row, over the rows that count for a mean, and zero elsewhere; or None."""
    cdef CrossEntropy s
    cdef int code = code_of(g)
    cdef int64_t r, counted
    cdef void* from_
    if (code != F32 and code != F64) or len(shape) != 2:
        return None
    out = numpy.zeros(shape, g.dtype)
    if not _scores(&s, out, target) or _wrong(s.target, s.rows, s.classes, ignored, &counted) >= 0:
        return None
    if not _take(g, code, s.rows if reduction == "none" else 1, &from_):
        return None
    cdef bint each = reduction == "none"
    cdef int64_t divisor = counted if reduction == "mean" else 1
    for r in range(s.rows):
        if s.target[r] == ignored:
            continue
        if code == F32:
            (<float*>s.x)[r * s.classes + s.target[r]] = -(<float*>from_)[r if each else 0] / <float>divisor
        else:
            (<double*>s.x)[r * s.classes + s.target[r]] = -(<double*>from_)[r if each else 0] / <double>divisor
    return out


def cross_entropy_backward(x, target, kept, g, str reduction, int64_t ignored):
    """g * (softmax(x) - target), over the rows that are not ignored for a mean, and zero in the others; or None."""
    cdef CrossEntropy s
    cdef int code = code_of(x)
    cdef cross_entropy_fn f
    cdef int64_t counted
    cdef float single
    cdef double real
    if not _scores(&s, x, target) or not _take(kept, code, 2 * s.rows, &s.kept) or s.kept == NULL:
        return None
    s.ignored = ignored
    s.one_scale = reduction != "none"
    if not _take(g, code, 1 if s.one_scale else s.rows, <void**>&s.scale) or s.scale == NULL:
        return None
    if _wrong(s.target, s.rows, s.classes, ignored, &counted) >= 0:
        return None
    if reduction == "mean":
        single, real = (<float*>s.scale)[0] / counted if code == F32 else 0, (<double*>s.scale)[0] / counted if code == F64 else 0
        s.scale = <const void*>&single if code == F32 else <const void*>&real
    out = empty_like(<cnp.ndarray>x)
    s.to_x = cnp.PyArray_DATA(<cnp.ndarray>out)
    f = <cross_entropy_fn>find("loss", "backward", code)
    with nogil:
        f(&s)
    return out


def running_sum(x, int axis, bint reverse=False):
    """The running sum along an axis, from its end if `reverse`; or None."""
    cdef int code = code_of(x)
    cdef int64_t outer, n, inner
    cdef scan_fn f
    if code < 0 or not 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>x):
        return None
    f = <scan_fn>find("scan", "sum", code)
    if f == NULL:
        return None
    split(<cnp.ndarray>x, axis, &outer, &n, &inner)
    out = empty_like(<cnp.ndarray>x)
    cdef void* from_ = cnp.PyArray_DATA(<cnp.ndarray>x)
    cdef void* into = cnp.PyArray_DATA(<cnp.ndarray>out)
    if outer * n * inner:
        with nogil:
            f(from_, into, outer, n, inner, reverse)
    return out


def where(mask, x, y):
    """x where the mask is true, else y: arrays of one dtype and the mask's shape, or of a single element. Or None."""
    if not (isinstance(mask, cnp.ndarray) and isinstance(x, cnp.ndarray) and isinstance(y, cnp.ndarray)):
        return None
    cdef cnp.ndarray m = <cnp.ndarray>mask, a = <cnp.ndarray>x, b = <cnp.ndarray>y
    cdef int64_t n = cnp.PyArray_SIZE(m), x_step = cnp.PyArray_NDIM(a) > 0, y_step = cnp.PyArray_NDIM(b) > 0
    cdef int item = cnp.PyArray_ITEMSIZE(a), code
    cdef where_fn f
    if m.descr.type_num != cnp.NPY_BOOL or a.descr.type_num != b.descr.type_num or not cnp.PyArray_ISNUMBER(a) or n == 0:
        return None
    if not (cnp.PyArray_ISCARRAY_RO(m) and cnp.PyArray_ISCARRAY_RO(a) and cnp.PyArray_ISCARRAY_RO(b)):
        return None
    if (x_step and not cnp.PyArray_SAMESHAPE(a, m)) or (y_step and not cnp.PyArray_SAMESHAPE(b, m)):
        return None
    code = U8 if item == 1 else I16 if item == 2 else F32 if item == 4 else F64 if item == 8 else NO_CODE
    f = <where_fn>find("select", "where", code)
    if f == NULL:
        return None
    out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(m), cnp.PyArray_DIMS(m), a.descr.type_num, 0)
    cdef void* into = cnp.PyArray_DATA(<cnp.ndarray>out)
    with nogil:
        f(<const uint8_t*>cnp.PyArray_DATA(m), cnp.PyArray_DATA(a), cnp.PyArray_DATA(b), into, n, x_step, y_step)
    return out


def rows_at(x, numbers):
    """x[numbers] for a matrix and int64 numbers of any shape; the place of one out of range; or None."""
    if not (isinstance(x, cnp.ndarray) and isinstance(numbers, cnp.ndarray)) or code_of(numbers) != I64:
        return None
    cdef cnp.ndarray table = <cnp.ndarray>x, places = <cnp.ndarray>numbers
    if not cnp.PyArray_ISCARRAY_RO(table) or cnp.PyArray_NDIM(table) != 2 or cnp.PyArray_NDIM(places) > 31:
        return None
    cdef int64_t row = cnp.PyArray_DIM(table, 1) * cnp.PyArray_ITEMSIZE(table), k
    cdef int64_t count = cnp.PyArray_SIZE(places), height = cnp.PyArray_DIM(table, 0)
    cdef const int64_t* at = <const int64_t*>cnp.PyArray_DATA(places)
    for k in range(count):
        if at[k] < 0 or at[k] >= height:
            return k
    out = numpy.empty((*numbers.shape, x.shape[1]), x.dtype)
    cdef void* into = cnp.PyArray_DATA(<cnp.ndarray>out)
    if count and row:
        with nogil:
            take_rows(cnp.PyArray_DATA(table), at, into, count, height, row)
    return out


def add_rows(values, numbers, int64_t count):
    """For each of `count` rows the sum of the rows of `values` whose number it is; or None."""
    cdef int code = code_of(values)
    cdef add_rows_fn f
    cdef bint done
    cdef int64_t n, width, k
    if (code != F32 and code != F64) or code_of(numbers) != I64 or cnp.PyArray_NDIM(<cnp.ndarray>values) != 2:
        return None
    n, width = cnp.PyArray_DIM(<cnp.ndarray>values, 0), cnp.PyArray_DIM(<cnp.ndarray>values, 1)
    f = <add_rows_fn>find("select", "add_rows", code)
    if f == NULL or cnp.PyArray_SIZE(<cnp.ndarray>numbers) != n:
        return None
    cdef const int64_t* at = <const int64_t*>cnp.PyArray_DATA(<cnp.ndarray>numbers)
    for k in range(n):
        if at[k] < 0 or at[k] >= count:
            return None
    out = numpy.empty((count, width), values.dtype)
    cdef void* into = cnp.PyArray_DATA(<cnp.ndarray>out)
    cdef void* from_ = cnp.PyArray_DATA(<cnp.ndarray>values)
    with nogil:
        done = f(from_, at, into, n, count, width)
    return out if done else None
