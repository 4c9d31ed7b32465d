"""Rows of sums: reductions, products, convolutions, factorisations, and functions of complex numbers.

A sum is judged against the sizes of its terms: the error in units in the last place of the sum of their absolute values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath as mp
import numpy as np

from tests.oracle.accuracy.units import Row, unit

FLOATS = ("float32", "float64")


def _wide(function: Callable) -> Callable:
    """A reference in long double: eleven bits more than float64."""
    return lambda arrays: (function(*(a.astype(np.longdouble) for a in arrays)), np.longdouble(0))


class Within:
    """The largest error in units of `sizes`, the absolute values of all terms added up."""

    def __init__(self, dtype: str, sizes: np.ndarray):
        self.dtype, self.sizes = dtype, sizes

    def __call__(self, result, head, rest) -> float:
        error = np.abs(np.asarray(result, dtype=np.longdouble) - head - rest) / unit(self.sizes, self.dtype)
        return float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))


def _data(rng, shape: tuple[int, ...], dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    normal = rng.standard_normal(shape)
    yield "normal", normal.astype(dtype)
    yield "large mean", (normal + 10.0 ** (4 if dtype == "float32" else 9)).astype(dtype)
    yield "heavy tails", (normal * np.exp(3 * rng.standard_normal(shape))).astype(dtype)


def _variance(axis):
    return lambda x: x.var(axis, ddof=1)


def _norm_of(axes):
    def true(x):
        mean = x.mean(axes, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + np.longdouble(1e-5))
    return true


def reductions() -> Iterator[Row]:
    rng = np.random.default_rng(3)
    for dtype in FLOATS:
        for shape in ((3, 4), (300, 40), (2048, 3)):
            for kind, x in _data(rng, shape, dtype):
                for axis in (0, 1):
                    where = f"{kind} {shape} over {axis}"
                    sizes = np.abs(x).astype(np.longdouble).sum(axis)
                    count = x.shape[axis]
                    yield Row("sum", dtype, where, [x], lambda t, x, axis=axis: x.sum(axis), _wide(lambda x, axis=axis: x.sum(axis)),
                              Within(dtype, sizes))
                    yield Row("mean", dtype, where, [x], lambda t, x, axis=axis: x.mean(axis), _wide(lambda x, axis=axis: x.mean(axis)),
                              Within(dtype, sizes / count))
                    yield Row("cumsum", dtype, where, [x], lambda t, x, axis=axis: x.cumsum(axis),
                              _wide(lambda x, axis=axis: x.cumsum(axis)), Within(dtype, np.abs(x).astype(np.longdouble).cumsum(axis)))
                    spread = x.astype(np.longdouble).var(axis, ddof=1)
                    for name in ("var", "std"):
                        yield Row(name, dtype, where, [x], lambda t, x, axis=axis, name=name: getattr(x, name)(axis),
                                  _wide(lambda x, axis=axis, name=name: x.var(axis, ddof=1) if name == "var" else x.std(axis, ddof=1)),
                                  Within(dtype, spread if name == "var" else np.sqrt(spread)))
                    yield Row("logsumexp", dtype, where, [x], lambda t, x, axis=axis: x.logsumexp(axis),
                              _wide(lambda x, axis=axis: _logsumexp(x, axis)), Within(dtype, np.abs(x).astype(np.longdouble).max(axis)))
                    yield Row("norm", dtype, where, [x], lambda t, x, axis=axis: t.linalg.vector_norm(x, dim=axis),
                              _wide(lambda x, axis=axis: np.sqrt((x * x).sum(axis))),
                              Within(dtype, np.sqrt((x.astype(np.longdouble) ** 2).sum(axis))))
                if kind == "heavy tails":
                    continue
                for name, axes, call in (("layer_norm", (1,), lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:])),
                                         ("batch_norm", (0,), lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True))):
                    true = _norm_of(axes)
                    yield Row(name, dtype, f"{kind} {shape}", [x], call, _wide(true), Within(dtype, 1 + np.abs(true(x.astype(np.longdouble)))))
                centred = x.astype(np.longdouble) - x.astype(np.longdouble).mean(1, keepdims=True)
                if shape[0] < 1000:
                    yield Row("cov", dtype, f"{kind} {shape}", [x], lambda t, x: t.cov(x), _wide(_cov),
                              Within(dtype, np.abs(centred) @ np.abs(centred).T / (shape[1] - 1)))


def _cov(x):
    d = x - x.mean(1, keepdims=True)
    return d @ d.T / (x.shape[1] - 1)


def _logsumexp(x, axis):
    top = x.max(axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis)) + top.squeeze(axis)


def products() -> Iterator[Row]:
    rng = np.random.default_rng(4)
    for dtype in FLOATS:
        for m, k, n in ((1, 512, 64), (4, 256, 128), (4, 2048, 64), (64, 256, 64), (64, 512, 48), (48, 2048, 48), (5, 1000, 7)):
            a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
            sizes = np.sqrt((a.astype(np.longdouble) ** 2) @ (b.astype(np.longdouble) ** 2))
            where = f"{m} x {k} x {n}"
            yield Row("matmul", dtype, where, [a, b], lambda t, a, b: a @ b, _wide(np.matmul), Within(dtype, sizes))
            yield Row("linear", dtype, where, [a, np.ascontiguousarray(b.T)], lambda t, a, b: t.nn.functional.linear(a, b),
                      _wide(lambda a, b: a @ b.T), Within(dtype, sizes))
    for kind in ("normal", "heavy tails"):
        x, w = rng.standard_normal((2, 16, 14, 14)), rng.standard_normal((32, 16, 3, 3))
        if kind == "heavy tails":
            x, w = x * np.exp(3 * rng.standard_normal(x.shape)), w * np.exp(3 * rng.standard_normal(w.shape))
        x, w = x.astype("float32"), w.astype("float32")
        yield Row("conv2d", "float32", kind, [x, w], lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1), _wide(_conv),
                  Within("float32", _conv(np.abs(x).astype(np.longdouble), np.abs(w).astype(np.longdouble))))


def _conv(x, w):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((x.shape[0], w.shape[0], *x.shape[2:]), dtype=x.dtype)
    for i in range(3):
        for j in range(3):
            out += np.einsum("nchw,oc->nohw", padded[:, :, i : i + x.shape[2], j : j + x.shape[3]], w[:, :, i, j])
    return out


class Residual:
    """Of a factorisation: the result is already its error, in units of the dtype's epsilon."""

    def __call__(self, result, head, rest) -> float:
        return float(np.max(result))


def _factors(name: str, dtype: str) -> Callable:
    def call(t, a):
        eps, x = np.finfo(dtype).eps, a.numpy().astype(np.longdouble)

        def orthogonal(q):
            return float(np.abs(q.T @ q - np.eye(q.shape[1])).max() / eps)

        if name == "eigh":
            w, v = (f.numpy().astype(np.longdouble) for f in t.linalg.eigh(a + a.mT))
            found = [orthogonal(v), float(np.abs((v * w) @ v.T - (a + a.mT).numpy()).max() / eps / np.abs(w).max())]
        elif name == "svd":
            u, s, vh = (f.numpy().astype(np.longdouble) for f in t.linalg.svd(a))
            found = [orthogonal(u), orthogonal(vh.T), float(np.abs((u * s) @ vh - x).max() / eps / s.max())]
        elif name == "qr":
            q, r = (f.numpy().astype(np.longdouble) for f in t.linalg.qr(a))
            found = [orthogonal(q), float(np.abs(q @ r - x).max() / eps / np.abs(r).max())]
        else:
            y = t.linalg.solve(a, a @ t.ones(a.shape[0], 1, dtype=a.dtype)).numpy().astype(np.longdouble)
            found = [float(np.abs(x @ y - x @ np.ones((x.shape[0], 1))).max() / eps / np.abs(x).max() / x.shape[0])]
        return t.tensor(found, dtype=t.float64)
    return call


def factorisations() -> Iterator[Row]:
    rng = np.random.default_rng(5)
    for dtype in FLOATS:
        for n in (5, 30, 100):
            a = rng.standard_normal((n, n)).astype(dtype)
            for name in ("eigh", "svd", "qr", "solve"):
                yield Row(name, dtype, f"{n} x {n}", [a], _factors(name, dtype), lambda arrays: (np.zeros(1), np.zeros(1)), Residual())


COMPLEX = {"exp": mp.exp, "log": mp.log, "log1p": lambda z: mp.log(1 + z), "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos,
           "tan": mp.tan, "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
           "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh, "reciprocal": lambda z: 1 / z, "abs": abs,
           "log2": lambda z: mp.log(z) / mp.log(2), "log10": lambda z: mp.log(z) / mp.log(10), "expm1": mp.expm1,
           "rsqrt": lambda z: 1 / mp.sqrt(z), "square": lambda z: z * z, "sigmoid": lambda z: 1 / (1 + mp.exp(-z))}


class OfComplex:
    """The distance in the plane, in units of the size of the true value."""

    def __init__(self, dtype: str):
        self.dtype = dtype

    def __call__(self, result, head, rest) -> float:
        error = np.abs((result.astype(np.clongdouble) - head) - rest) / unit(np.abs(head).astype(np.longdouble), self.dtype)
        return float(np.where(np.isnan(error), np.inf, error).max(initial=0.0))


def _of_complex(function: Callable) -> Callable:
    def true(arrays):
        with mp.workprec(200):
            values = [mp.mpmathify(function(mp.mpmathify(z))) for z in arrays[0].tolist()]
            heads = [complex(v) for v in values]
            return np.array(heads), np.array([complex(v - mp.mpmathify(h)) for v, h in zip(values, heads, strict=True)])
    return true


def complexes() -> Iterator[Row]:
    rng = np.random.default_rng(6)
    for name, function in COMPLEX.items():
        for dtype, kind in (("float32", "complex64"), ("float64", "complex128")):
            def plane(least, most, rng=rng):
                return 10.0 ** rng.uniform(least, most, 60) * np.exp(2j * np.pi * rng.random(60))
            for where, z in (("ordinary", plane(-1, 1)), ("small", plane(-4, -1)), ("tiny", plane(-10, -4)), ("near one", 1 + plane(-4, -1))):
                yield Row(f"complex {name}", dtype, where, [z.astype(kind)], lambda t, z, name=name: getattr(t, name)(z),
                          _of_complex(function), OfComplex(dtype))


def rows() -> Iterator[Row]:
    yield from reductions()
    yield from products()
    yield from factorisations()
    yield from complexes()
