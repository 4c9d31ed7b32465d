"""The native loops of two-dimensional convolution; claygrad/ops/_conv.py says what they compute."""
from libc.stdint cimport int64_t

cimport numpy as cnp

from claygrad.core.arrays cimport code_of
from claygrad.core.kernels cimport find

cdef extern from "conv.hpp" namespace "clay" nogil:
    struct Convolution:
        int64_t n, c, h, w, o, kh, kw, oh, ow
        int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups
        const void* bias

    ctypedef bint (*convolution_fn)(const Convolution* shape, const void* a, const void* b, void* made) noexcept nogil

cnp.import_array()


def run(str name, a, b, made, tuple x_shape, tuple w_shape, tuple out_shape, stride, padding, dilation, int64_t groups,
        bias=None):
    """Fill `made` by a kernel: forward(input, weight) + bias, input_grad(gradient, weight) or weight_grad(input, gradient).
    False if there is none for such arrays. One spatial axis counts as two, the first of size 1."""
    cdef Convolution s
    cdef int code = code_of(a)
    cdef bint one = len(x_shape) == 3, filled
    cdef convolution_fn f
    cdef bytes kernel
    if code < 0 or code_of(b) != code or code_of(made) != code or len(x_shape) not in (3, 4):
        return False
    if bias is not None and (code_of(bias) != code or cnp.PyArray_SIZE(<cnp.ndarray>bias) != w_shape[0]):
        return False
    s.bias = NULL if bias is None else cnp.PyArray_DATA(<cnp.ndarray>bias)
    s.n, s.c, s.o, s.groups = x_shape[0], x_shape[1], w_shape[0], groups
    s.h, s.kh, s.oh = (1, 1, 1) if one else (x_shape[2], w_shape[2], out_shape[2])
    s.w, s.kw, s.ow = x_shape[-1], w_shape[-1], out_shape[-1]
    s.stride_h, s.pad_h, s.dilation_h = (1, 0, 1) if one else (stride[0], padding[0], dilation[0])
    s.stride_w, s.pad_w, s.dilation_w = stride[-1], padding[-1], dilation[-1]
    kernel = name.encode()
    f = <convolution_fn>find("depthwise" if s.c == groups and groups > 1 else "conv", kernel, code)
    if f == NULL:
        return False
    cdef void* x = cnp.PyArray_DATA(<cnp.ndarray>a)
    cdef void* y = cnp.PyArray_DATA(<cnp.ndarray>b)
    cdef void* out = cnp.PyArray_DATA(<cnp.ndarray>made)
    with nogil:
        filled = f(&s, x, y, out)
    return filled
