"""Convolutions of `cuda`: windows as columns by a kernel, and products by cuBLAS (Note [Columns] in ops/_conv.py);
those of each channel by itself in one kernel."""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from claygrad.core.dispatch.convert_half import recast
from claygrad.cuda._kernels.forms import kind_of, three
from claygrad.ops._conv import is_pointwise, out_sizes, same_format, transposed_sizes
from claygrad.ops._norms import wide
from claygrad.ops.conv import spread_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from claygrad.cuda._kernels.launch import Kernels

COLUMNS = 1 << 28                       # bytes of columns made at a time


def forms(run: Kernels) -> dict[str, Callable[..., Any]]:
    def geometry(size: Any, out: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> list[int]:
        return [*three(size, 1), *three(out, 1), *three(kernel, 1), *three(stride, 1), *three(padding, 0),
                *three(dilation, 1)]

    def to_columns(xp: Any, kind: str, x: Any, out: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        """(planes, *size) as (planes, elements of the kernel, windows)."""
        result = xp.empty((x.shape[0], prod(kernel), prod(out)), dtype=x.dtype)
        run.each("columns", f"to_columns_{kind}", result.size, x, result, result.size,
                 *geometry(x.shape[1:], out, kernel, stride, padding, dilation))
        return result

    def from_columns(xp: Any, kind: str, columns: Any, planes: int, size: Any, out: Any, kernel: Any, stride: Any,
                     padding: Any, dilation: Any) -> Any:
        result = xp.empty((planes, *size), dtype=columns.dtype)
        run.each("columns", f"from_columns_{kind}", result.size, columns, result, result.size,
                 *geometry(size, out, kernel, stride, padding, dilation))
        return result

    def blocks(n: int, bytes_each: int) -> Iterator[tuple[int, int]]:
        step = max(1, min(n, COLUMNS // max(bytes_each, 1)))
        for low in range(0, n, step):
            yield low, min(n, low + step)

    def windows_of(xp: Any, kind: str, x: Any, groups: int, out: Any, kernel: Any, how: tuple) -> Any:
        """The columns of some images: (images, groups, channels of a group * kernel, windows)."""
        n, c = x.shape[:2]
        if is_pointwise(kernel, how[1]) and all(s == 1 for s in how[0]):
            return x.reshape(n, groups, c // groups, prod(out))
        result = to_columns(xp, kind, x.reshape(n * c, *x.shape[2:]), out, kernel, *how)
        return result.reshape(n, groups, c // groups * prod(kernel), prod(out))

    def depthwise(w: Any, groups: int) -> bool:
        """Whether each group has one input channel: then a matrix of columns would have one row."""
        return groups > 1 and w.shape[1] == 1

    def forward(xp: Any, kind: str, x: Any, w: Any, bias: Any, how: tuple, groups: int) -> Any:
        n, o, kernel = x.shape[0], w.shape[0], w.shape[2:]
        out = out_sizes(x.shape[2:], kernel, *how)
        if depthwise(w, groups):
            result = xp.empty((n, o, *out), dtype=x.dtype)
            run.each("columns", f"depthwise_{kind}", result.size, x, w, bias, result, result.size, o, o // groups,
                     *geometry(x.shape[2:], out, kernel, *how))
            return result
        weight = w.reshape(groups, o // groups, -1)
        result = xp.empty((n, groups, o // groups, prod(out)), dtype=x.dtype)
        for low, high in blocks(n, x.shape[1] * prod(kernel) * prod(out) * x.dtype.itemsize):
            xp.matmul(weight, windows_of(xp, kind, x[low:high], groups, out, kernel, how), out=result[low:high])
        result = result.reshape(n, o, *out)
        if bias is not None:
            result += bias.reshape(-1, *[1] * len(out))
        return result

    def input_grad(xp: Any, kind: str, g: Any, w: Any, size: Any, how: tuple, groups: int) -> Any:
        n, o, kernel, out = g.shape[0], g.shape[1], w.shape[2:], g.shape[2:]
        c = w.shape[1] * groups
        if depthwise(w, groups):
            result = xp.empty((n, c, *size), dtype=g.dtype)
            run.each("columns", f"depthwise_input_{kind}", result.size, g, w, result, result.size, o, o // groups,
                     *geometry(size, out, kernel, *how))
            return result
        turned = xp.ascontiguousarray(w.reshape(groups, o // groups, -1).swapaxes(1, 2))
        rows = g.reshape(n, groups, o // groups, prod(out))
        if is_pointwise(kernel, how[1]) and tuple(size) == tuple(out):
            return xp.matmul(turned, rows).reshape(n, c, *size)
        result = xp.empty((n, c, *size), dtype=g.dtype)
        for low, high in blocks(n, c * prod(kernel) * prod(out) * g.dtype.itemsize):
            columns = xp.ascontiguousarray(xp.matmul(turned, rows[low:high]))
            part = from_columns(xp, kind, columns, (high - low) * c, size, out, kernel, *how)
            result[low:high] = part.reshape(high - low, c, *size)
        return result

    def usable(xp: Any, a: Any, b: Any, *more: Any) -> tuple[str | None, list[Any]]:
        kind = kind_of(a, b, *more)
        if kind is None or not a.size or not b.size:
            return None, []
        return kind, [None if x is None else xp.ascontiguousarray(x) for x in (a, b, *more)]

    def settings(dims: int, *values: Any) -> tuple[tuple[int, ...], ...]:
        return tuple(spread_out("", v, dims) for v in values)

    def convolution(xp: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                    transposed: bool, output_padding: Any, groups: int) -> Any:
        kind, arrays = usable(xp, input, weight, bias)
        if kind is None:
            return None
        x, w, b = arrays
        dims = w.ndim - 2
        how = settings(dims, stride, padding, dilation)
        if transposed:
            extra = spread_out("", output_padding, dims)
            size = transposed_sizes(x.shape[2:], w.shape[2:], how[0], how[1], how[2], extra)
            if min(size) < 1:
                return None
            result = input_grad(xp, kind, x, w, size, how, groups)
            if b is not None:
                result += b.reshape(-1, *[1] * dims)
        elif min(out_sizes(x.shape[2:], w.shape[2:], *how)) < 1:
            return None
        else:
            result = forward(xp, kind, x, w, b, how, groups)
        return same_format(xp, result, input, weight)

    def conv_input(xp: Any, grad_output: Any, weight: Any, stride: Any, padding: Any, dilation: Any, spare: Any,
                   groups: int) -> Any:
        kind, arrays = usable(xp, grad_output, weight)
        if kind is None:
            return None
        g, w = arrays
        dims = w.ndim - 2
        how = settings(dims, stride, padding, dilation)
        size = transposed_sizes(g.shape[2:], w.shape[2:], how[0], how[1], how[2], spread_out("", spare, dims))
        if min(size) < 1:
            return None
        return same_format(xp, input_grad(xp, kind, g, w, size, how, groups), grad_output, weight)

    def conv_weight(xp: Any, grad_output: Any, input: Any, kernel: Sequence[int], stride: Any, padding: Any,
                    dilation: Any, groups: int) -> Any:
        kind, arrays = usable(xp, grad_output, input)
        if kind is None:
            return None
        g, x = arrays
        (n, o), c, out = g.shape[:2], x.shape[1], g.shape[2:]
        how = settings(len(kernel), stride, padding, dilation)
        if c == groups > 1:
            result = xp.empty((o, 1, *kernel), dtype=x.dtype)
            run.rows("columns", f"depthwise_weight_{kind}", result.size, n * prod(out), g, x, result, n, o, o // groups,
                     *geometry(x.shape[2:], out, kernel, *how))
            return result
        total: Any = None
        for low, high in blocks(n, c * prod(kernel) * prod(out) * x.dtype.itemsize):
            columns = windows_of(xp, kind, x[low:high], groups, out, kernel, how)
            if columns.shape[-1] != prod(out):
                return None
            rows = g[low:high].reshape(high - low, groups, o // groups, prod(out))
            part = xp.matmul(rows, columns.swapaxes(-1, -2)).sum(axis=0)
            total = part if total is None else total + part
        return total.reshape(o, c // groups, *kernel)

    def im2col(xp: Any, input: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
        x = wide(input)
        kind = kind_of(x)
        if kind is None or not x.size:
            return None
        x = xp.ascontiguousarray(x)
        out = out_sizes(x.shape[-2:], kernel, stride, padding, dilation)
        result = to_columns(xp, kind, x.reshape(-1, *x.shape[-2:]), out, kernel, stride, padding, dilation)
        return recast(result.reshape(*x.shape[:-3], x.shape[-3] * prod(kernel), prod(out)), input.dtype)

    def col2im(xp: Any, input: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
        kind = kind_of(input)
        if kind is None or not input.size:
            return None
        *lead, rows, _ = input.shape
        c = rows // prod(kernel)
        out = out_sizes(size, kernel, stride, padding, dilation)
        result = from_columns(xp, kind, xp.ascontiguousarray(input), prod(lead) * c, size, out, kernel, stride, padding,
                            dilation)
        return result.reshape(*lead, c, *size)

    return {"convolution": convolution, "_conv_input": conv_input, "_conv_weight": conv_weight, "im2col": im2col,
            "col2im": col2im}
