"""Rows of functions of one, two and three real numbers: ordinary, tiny, huge, next to roots and poles, whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath as mp
import numpy as np

from tests.oracle.accuracy.units import Row, by_element

FLOATS = ("float32", "float64")
FEW = 40
MANY = 160


def _exp(x):
    return mp.inf if x > 2000 else mp.mpf(0) if x < -2000 else mp.exp(x)


def _sinh(x):
    return mp.sinh(x) if abs(x) < 2000 else mp.sign(x) * mp.inf


def _erfc(x):
    return mp.mpf(0) if x > 60 else mp.erfc(x)


def _ndtr(x):
    return _erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x):
    if x > 60:
        return mp.mpf(0)
    if x < -1e5:
        return -x * x / 2 - mp.log(-x) - mp.log(2 * mp.pi) / 2
    return mp.log1p(-_ndtr(-x)) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def _erfinv(x):
    if abs(x) >= 1:
        return mp.nan if abs(x) > 1 else x * mp.inf
    return mp.erfinv(x)


def _ndtri(p):
    if not 0 < p < 1:
        return mp.nan
    if p > 1e-10:
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)
    guess = -mp.sqrt(-2 * mp.log(p))                         # Newton in the logarithm: erfinv of almost 1 has no digits
    for _ in range(60):
        value = _log_ndtr(guess)
        slope = mp.exp(-guess * guess / 2 - value) / mp.sqrt(2 * mp.pi)
        step = (value - mp.log(p)) / slope
        guess -= step
        if abs(step) < abs(guess) * mp.mpf(2) ** -200:
            break
    return guess


def _lgamma(x):
    return mp.loggamma(x) if x > 0 else mp.log(abs(mp.pi / mp.sinpi(x))) - mp.loggamma(1 - x)


def _gelu(x):
    return x * _ndtr(x)


def _gelu_tanh(x):
    u = mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)
    return x * _sigmoid(2 * u)


def _sigmoid(x):
    return 1 / (1 + _exp(-x)) if x > -2000 else mp.mpf(0)


def _softplus(x):
    return x if x > 20 else mp.log1p(_exp(x))


def _mish(x):
    e = _exp(min(x, mp.mpf(500)))
    n = e * (e + 2)
    return x * n / (n + 2)


def _scaled_i(order):
    def f(x):
        if abs(x) > 5000:                                    # the asymptotic series, whose terms fall quickly there
            mu, term, total, y = 4 * mp.mpf(order) ** 2, mp.mpf(1), mp.mpf(1), abs(x)
            for k in range(1, 40):
                term *= -(mu - (2 * k - 1) ** 2) / (k * 8 * y)
                total += term
            return total / mp.sqrt(2 * mp.pi * y) * (mp.sign(x) if order else 1)
        return mp.besseli(order, x) * mp.exp(-abs(x))
    return f


def _bessel_i(order):
    return lambda x: mp.inf * (mp.sign(x) if order else 1) if abs(x) > 1000 else mp.besseli(order, x)


def _bessel_k(order, scaled=False):
    def f(x):
        if x <= 0 or x > 2000:
            return mp.nan
        return mp.besselk(order, x) * (mp.exp(x) if scaled else 1)
    return f


def _modest(function, size):
    """mpmath takes long, or too much memory, beyond this size."""
    return lambda x: function(x) if abs(x) <= size else mp.nan


INF = float("inf")
# name: (reference, low, high, points of interest, slow)
UNARY: dict[str, tuple] = {
    "exp": (_exp, -INF, INF, (0, 1, 88.7, -87.3, 709.7, -708), False),
    "exp2": (lambda x: mp.inf if x > 3000 else mp.mpf(0) if x < -3000 else mp.mpf(2) ** x, -INF, INF, (0, 1, 127.9, -126), False),
    "expm1": (lambda x: mp.mpf(-1) if x < -2000 else mp.inf if x > 2000 else mp.expm1(x), -INF, INF, (0, 0.5, -0.5, 1, 88), False),
    "log": (mp.log, 0, INF, (1, 2, 0.5, 1.41421356, 0.70710678), False),
    "log2": (lambda x: mp.log(x, 2), 0, INF, (1, 2, 0.5, 1.41421356), False),
    "log10": (mp.log10, 0, INF, (1, 10, 100, 0.1, 1e10), False),
    "log1p": (mp.log1p, -1, INF, (0, -1, 1), False),
    "sin": (mp.sin, -INF, INF, (0, np.pi, np.pi / 2, 1.5707662, 2 * np.pi, 100 * np.pi, 35000 * np.pi), False),
    "cos": (mp.cos, -INF, INF, (0, np.pi, np.pi / 2, 1.5 * np.pi, 100.5 * np.pi, 35000.5 * np.pi), False),
    "tan": (mp.tan, -INF, INF, (0, np.pi, np.pi / 2, np.pi / 4, 100.5 * np.pi), False),
    "asin": (mp.asin, -1, 1, (0, 1, -1, 0.5), False),
    "acos": (mp.acos, -1, 1, (0, 1, -1, 0.5), False),
    "atan": (mp.atan, -INF, INF, (0, 1, -1, 2.414, 0.4142), False),
    "sinh": (_sinh, -INF, INF, (0, 1, 89.3, 710.3), False),
    "cosh": (lambda x: mp.cosh(x) if abs(x) < 2000 else mp.inf, -INF, INF, (0, 1, 89.3, 710.3), False),
    "tanh": (lambda x: mp.tanh(x) if abs(x) < 2000 else mp.sign(x), -INF, INF, (0, 0.6, 1, 9), False),
    "asinh": (mp.asinh, -INF, INF, (0, 1, -1), False),
    "acosh": (mp.acosh, 1, INF, (1, 2), False),
    "atanh": (mp.atanh, -1, 1, (0, 1, -1, 0.5), False),
    "sqrt": (mp.sqrt, 0, INF, (1, 4), False),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0, INF, (1, 4), False),
    "reciprocal": (lambda x: 1 / x, -INF, INF, (1,), False),
    "square": (lambda x: x * x, -INF, INF, (1,), False),
    "sigmoid": (_sigmoid, -INF, INF, (0, -88, 88, -16), False),
    "logit": (lambda x: mp.log(x) - mp.log1p(-x), 0, 1, (0.5, 0, 1), False),
    "erf": (mp.erf, -INF, INF, (0, 0.5, 1, 2, 4), False),
    "erfc": (_erfc, -INF, INF, (0, 0.5, 1, 2, 9, 26), False),
    "erfinv": (_erfinv, -1, 1, (0, 0.5, 0.6, 1, -1), False),
    "lgamma": (_lgamma, -INF, INF, (1, 2, 0, -1, -2.4570247, -2.7476827, -3.1435809, -3.9552942, -4.0393618, -10, 3, 10), False),
    "digamma": (lambda x: mp.digamma(x), -INF, INF, (1.4616321, -0.5040830, -1.5734984, -2.6107208, -1, 10), False),
    "sinc": (lambda x: mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1), -INF, INF, (0, 1, -1, 2, 10), False),
    "special.i0": (_bessel_i(0), -INF, INF, (0, 8), True),
    "special.i0e": (_scaled_i(0), -INF, INF, (0, 8), True),
    "special.i1": (_bessel_i(1), -INF, INF, (0, 8), True),
    "special.i1e": (_scaled_i(1), -INF, INF, (0, 8), True),
    "special.ndtr": (_ndtr, -INF, INF, (0, -1, -10, 1), False),
    "special.ndtri": (_ndtri, 0, 1, (0.5, 0.2, 0.8, 0, 1, 0.1353352832), False),
    "special.log_ndtr": (_log_ndtr, -INF, INF, (0, -1, -10, 5, 1), False),
    "special.erfcx": (lambda x: mp.inf if x < -30 else 1 / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x) + 3 / (4 * x**4))
                      if x > 1e9 else mp.exp(x * x) * mp.erfc(x) if x < 50 else _erfcx_far(x), -INF, INF, (0, 1, -1, 10, -26), False),
    "special.entr": (lambda x: -x * mp.log(x), 0, INF, (1, 0.3678794), False),
    "special.bessel_j0": (_modest(lambda x: mp.besselj(0, x), 1e6), -INF, INF, (0, 2.4048255577, 5.5200781103, 8, 11.79153443901), True),
    "special.bessel_j1": (_modest(lambda x: mp.besselj(1, x), 1e6), -INF, INF, (0, 3.8317059702, 7.0155866698, 8, 13.32369193631), True),
    "special.bessel_y0": (_modest(lambda x: mp.bessely(0, x), 1e6), 0, INF, (0.8935769663, 3.9576784194, 8), True),
    "special.bessel_y1": (_modest(lambda x: mp.bessely(1, x), 1e6), 0, INF, (2.1971413260, 5.4296810408, 8), True),
    "special.modified_bessel_i0": (_bessel_i(0), -INF, INF, (0, 8), True),
    "special.modified_bessel_i1": (_bessel_i(1), -INF, INF, (0, 8), True),
    "special.modified_bessel_k0": (_bessel_k(0), 0, INF, (0, 2), True),
    "special.modified_bessel_k1": (_bessel_k(1), 0, INF, (0, 2), True),
    "special.scaled_modified_bessel_k0": (_bessel_k(0, True), 0, INF, (0, 2), True),
    "special.scaled_modified_bessel_k1": (_bessel_k(1, True), 0, INF, (0, 2), True),
    "special.spherical_bessel_j0": (lambda x: mp.sin(x) / x, -INF, INF, (0, np.pi, 0.5), False),
    "special.airy_ai": (_modest(mp.airyai, 100), -INF, INF, (0, -2.33810741, -4.08794944), True),
    "nn.functional.gelu": (_gelu, -INF, INF, (0, -1, -5, 5), False),
    "nn.functional.silu": (lambda x: x * _sigmoid(x), -INF, INF, (0, -1.278, 20), False),
    "nn.functional.mish": (_mish, -INF, INF, (0, -1.19, 20), False),
    "nn.functional.softplus": (_softplus, -INF, INF, (0, 20, -10), False),
    "nn.functional.logsigmoid": (lambda x: -_softplus_all(-x), -INF, INF, (0, 20, -10), False),
    "nn.functional.elu": (lambda x: x if x > 0 else mp.expm1(max(x, -500)), -INF, INF, (0, -1, -20), False),
    "nn.functional.selu": (lambda x: 1.0507009873554804934 * (x if x > 0 else mp.mpf(1.6732632423543772848) * mp.expm1(max(x, -500))),
                           -INF, INF, (0, -1, -20), False),
    "nn.functional.tanhshrink": (lambda x: x - mp.tanh(x) if abs(x) < 2000 else x - mp.sign(x), -INF, INF, (0, 1), False),
    "nn.functional.softsign": (lambda x: x / (1 + abs(x)), -INF, INF, (0, 1), False),
    "deg2rad": (lambda x: x * mp.pi / 180, -INF, INF, (1,), False),
    "rad2deg": (lambda x: x * 180 / mp.pi, -INF, INF, (1,), False),
    "polygamma 1": (lambda x: mp.psi(1, x), 0, INF, (1, 10, 0), True),
    "polygamma 2": (lambda x: mp.psi(2, x), 0, INF, (1, 10, 0), True),
    "polygamma 3": (lambda x: mp.psi(3, x), 0, INF, (1, 10, 0), True),
    "mvlgamma 3": (lambda x: 3 * mp.log(mp.pi) / 2 + mp.loggamma(x) + mp.loggamma(x - mp.mpf(0.5)) + mp.loggamma(x - 1), 1.01, INF, (3, 10), False),
    "gelu tanh": (_gelu_tanh, -INF, INF, (0, -1, -5, 5), False),
    "softplus 2": (lambda x: x if 2 * x > 20 else mp.log1p(_exp(2 * x)) / 2, -INF, INF, (0, -5), False),
    "celu 1.5": (lambda x: x if x > 0 else mp.mpf(1.5) * mp.expm1(max(x, -500) / mp.mpf(1.5)), -INF, INF, (0, -1), False),
    "pow 2": (lambda x: x * x, -INF, INF, (1,), False),
    "pow 3": (lambda x: x**3, -INF, INF, (1,), False),
    "pow 0.5": (mp.sqrt, 0, INF, (1,), False),
    "pow -2": (lambda x: 1 / (x * x), -INF, INF, (1,), False),
    "pow 2.5": (lambda x: x ** mp.mpf(2.5), 0, INF, (1,), False),
    "pow 7": (lambda x: x**7, -INF, INF, (1,), False),
    "rpow 10": (lambda x: mp.nan if abs(x) > 2000 else mp.mpf(10) ** x, -INF, INF, (0,), False),
}
SPECIAL_CALLS: dict[str, Callable] = {
    "polygamma 1": lambda t, x: t.polygamma(1, x), "polygamma 2": lambda t, x: t.polygamma(2, x),
    "polygamma 3": lambda t, x: t.polygamma(3, x), "mvlgamma 3": lambda t, x: t.mvlgamma(x, 3),
    "gelu tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "softplus 2": lambda t, x: t.nn.functional.softplus(x, beta=2), "celu 1.5": lambda t, x: t.nn.functional.celu(x, 1.5),
    "rpow 10": lambda t, x: 10**x,
    **{f"pow {p}": (lambda t, x, p=p: x ** (int(p) if "." not in p else float(p))) for p in ("2", "3", "0.5", "-2", "2.5", "7")},
}


def _erfcx_far(x):
    total, term = mp.mpf(1), mp.mpf(1)
    for k in range(1, 60):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def _softplus_all(x):
    return x if x > 2000 else mp.log1p(_exp(x))


def _logaddexp(a, b):
    m, d = max(a, b), abs(a - b)
    return m + mp.log1p(_exp(-d))


def _logaddexp2(a, b):
    m, d = max(a, b), abs(a - b)
    return m + (mp.log1p(mp.mpf(2) ** -d) / mp.log(2) if d < 3000 else 0)


def _pow(a, b):
    if a <= 0 and b != int(b):
        return mp.nan
    size = abs(b * mp.log(abs(a))) if a else 0
    if size > 2000:
        return mp.nan if a < 0 else (mp.inf if (b > 0) == (abs(a) > 1) else mp.mpf(0))
    return a**b


def _xlogy(a, b):
    return mp.mpf(0) if a == 0 else a * mp.log(b) if b > 0 else mp.nan


BINARY: dict[str, tuple] = {
    "atan2": (lambda a, b: mp.atan2(a, b), False, False),
    "hypot": (mp.hypot, False, False),
    "pow": (_pow, False, False),
    "logaddexp": (_logaddexp, False, False),
    "logaddexp2": (_logaddexp2, False, False),
    "xlogy": (_xlogy, True, False),
    "special.xlog1py": (lambda a, b: mp.mpf(0) if a == 0 else a * mp.log1p(b) if b > -1 else mp.nan, True, False),
    "div": (lambda a, b: a / b, False, False),
    "fmod": (lambda a, b: a - b * mp.sign(a / b) * mp.floor(abs(a / b)), False, False),
    "special.zeta": (lambda a, b: mp.zeta(a, b) if 1 < a < 200 and b > 0 else mp.nan, True, True),
    "special.gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True) if a < 300 and x < 300 else mp.nan, True, True),
    "special.gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True) if a < 300 and x < 300 else mp.nan, True, True),
}


def _attribute(library, name: str):
    for part in name.split("."):
        library = getattr(library, part)
    return library


def _ranges(dtype: str, low: float, high: float, points: tuple, count: int, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    single = dtype == "float32"

    def sizes(least, most, n=count):
        x = 10.0 ** rng.uniform(least, most, n)
        if low < 0:
            x *= rng.choice([-1.0, 1.0], n)
        return x

    def kept(x):
        x = np.asarray(x).astype(dtype)
        x = x[(x >= low) & (x <= high) & np.isfinite(x)]
        return x if low != 1.01 or len(x) == 0 else x[x > 1.01]

    near = 3 if single else 5
    parts = {
        "ordinary": rng.uniform(max(low, -10), min(high, 10), count),
        "small": sizes(-4, 0),
        "tiny": sizes(-36 if single else -300, -5 if single else -9),
        "subnormal": sizes(-44.5 if single else -322, -38.2 if single else -308.5, count // 4),
        "large": sizes(1, 4),
        "huge": sizes(4, 38.4 if single else 308),
        "whole": np.concatenate([np.arange(-20.0, 60), 10.0 ** np.arange(-5, 20), 2.0 ** np.arange(-20, 40)]),
    }
    for p in points:
        step = 10.0 ** rng.uniform(-7.5 if single else -16, -1, count) * rng.choice([-1.0, 1.0], count)
        close = np.asarray(p, dtype=dtype)
        ticks = close + np.arange(-near, near + 1) * np.spacing(np.abs(close))
        parts[f"near {p:.6g}"] = np.concatenate([p + step * max(1.0, abs(p)) * 0.1, ticks])
    for where, x in parts.items():
        x = kept(x)
        if len(x):
            yield where, x


def _pairs(dtype: str, positive: bool, count: int, seed: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    rng = np.random.default_rng(seed)
    single = dtype == "float32"

    def signed(x):
        return x if positive else x * rng.choice([-1.0, 1.0], len(x))

    def of(least, most):
        return signed(10.0 ** rng.uniform(least, most, count)).astype(dtype)

    whole = [signed(rng.integers(1, 12, count).astype(float)).astype(dtype) for _ in range(2)]
    base = of(-1, 1)
    top = 38 if single else 307
    yield "ordinary", [of(-1, 1), of(-1, 1)]
    yield "small", [of(-5, -1), of(-5, -1)]
    yield "whole", whole
    yield "nearly equal", [base, (base * (1 + 10.0 ** rng.uniform(-6, -2, count))).astype(dtype)]
    yield "equal", [base, base.copy()]
    yield "opposite", [base, (-base if not positive else 1 / base).astype(dtype)]
    yield "large and small", [of(2, 5), of(-5, -2)]
    yield "small and large", [of(-5, -2), of(1, 2.5)]
    yield "near one", [(1 + 10.0 ** rng.uniform(-6, -1, count) * rng.choice([-1.0, 1.0], count)).astype(dtype), of(0, 4)]
    yield "huge", [of(top - 18, top), of(top - 18, top)]
    yield "tiny", [of(-top, -top + 18), of(-top, -top + 18)]


def rows(share: float = 1.0) -> Iterator[Row]:
    """All rows; `share` of the samples of each."""
    for number, (name, (reference, low, high, points, slow)) in enumerate(UNARY.items()):
        call = SPECIAL_CALLS.get(name) or (lambda t, x, name=name: _attribute(t, name)(x))
        for dtype in FLOATS:
            count = max(8, int((FEW if slow else MANY) * share))
            for where, x in _ranges(dtype, low, high, points, count, number):
                yield Row(name, dtype, where, [x], call, by_element(reference, name, dtype))
    for number, (name, (reference, positive, slow)) in enumerate(BINARY.items()):
        for dtype in FLOATS:
            count = max(8, int((FEW if slow else MANY) * share))
            for where, arrays in _pairs(dtype, positive or name == "pow", count, 500 + number):
                yield Row(name, dtype, where, arrays, lambda t, x, y, name=name: _attribute(t, name)(x, y),
                          by_element(reference, name, dtype))
    yield from _ternary(max(8, int(MANY * share)))


def _ternary(count: int) -> Iterator[Row]:
    rng = np.random.default_rng(900)
    cases = {
        "addcmul": (lambda a, b, c: a + b * c, lambda t, a, b, c: t.addcmul(a, b, c)),
        "addcdiv": (lambda a, b, c: a + b / c, lambda t, a, b, c: t.addcdiv(a, b, c)),
        "lerp": (lambda a, b, c: a + c * (b - a), lambda t, a, b, c: t.lerp(a, b, c)),
        "addcmul 0.3": (lambda a, b, c: a + mp.mpf("0.3") * b * c, lambda t, a, b, c: t.addcmul(a, b, c, value=0.3)),
    }
    for name, (reference, call) in cases.items():
        for dtype in FLOATS:
            a, b, c = (rng.standard_normal(count).astype(dtype) for _ in range(3))
            yield Row(name, dtype, "ordinary", [a, b, c], call, by_element(reference, name, dtype), Against(dtype, a, b, c))
            yield Row(name, dtype, "large", [a * 1000, b * 1000, c], call, by_element(reference, name, dtype),
                      Against(dtype, a * 1000, b * 1000, c))
    # What a fused multiply-add keeps and two roundings lose
    for dtype in FLOATS:
        b, c = (rng.standard_normal(count).astype(dtype) for _ in range(2))
        yield Row("addcmul", dtype, "cancelling", [-(b * c), b, c], cases["addcmul"][1], by_element(cases["addcmul"][0], "addcmul", dtype))


class Against:
    """The error in units of the larger of the result and the first operand."""

    def __init__(self, dtype: str, *arrays: np.ndarray):
        self.dtype, self.size = dtype, np.abs(arrays[0]).astype(np.longdouble)

    def __call__(self, result, head, rest) -> float:
        from tests.oracle.accuracy.units import unit
        error = np.abs(result.astype(np.longdouble) - head - rest)
        return float((error / unit(np.maximum(self.size, np.abs(head)), self.dtype)).max())
