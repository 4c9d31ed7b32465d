"""The same work in NumPy and in JAX, for the workloads on single operations.

NumPy has no derivatives: they are written by hand, as the minimal computation. JAX compiles the
whole call (`jit`), and a call waits for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

from workloads import twin

Million = 1_000_000


def normal(*shapes: tuple[int, ...]) -> list:
    import numpy as np
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def compiled(jax: ModuleType, function: Callable, arrays: Sequence) -> Callable[[], object]:
    """A call of the compiled function, with the result there when it returns."""
    arrays = [jax.numpy.asarray(a) for a in arrays]
    fast = jax.jit(function)
    return lambda: jax.block_until_ready(fast(*arrays))


def vjp(jax: ModuleType, function: Callable) -> Callable:
    """Forward and backward: from g and the arguments to the value and the gradients."""
    def run(g: object, *arguments: object) -> object:
        value, pull = jax.vjp(function, *arguments)
        return value, pull(g)
    return run


def in_both(name: str, function: Callable, *shapes: tuple[int, ...], make: Callable[..., Sequence] = normal) -> None:
    """One expression of the array module and the arrays serves NumPy and JAX."""
    def for_numpy(np: ModuleType) -> Callable[[], object]:
        arrays = make(*shapes)
        return lambda: function(np, *arrays)

    def for_jax(jax: ModuleType) -> Callable[[], object]:
        return compiled(jax, lambda *arrays: function(jax.numpy, *arrays), make(*shapes))

    for library, setup in (("numpy", for_numpy), ("jax", for_jax)):
        setup.__name__ = f"{library}_{name}"
        twin(setup)


def with_rows(*shapes: tuple[int, ...]) -> list:
    import numpy as np
    return [*normal(*shapes), np.array([7, 1, 4, 1])]


def with_mask(*shapes: tuple[int, ...]) -> list:
    first, *rest = normal(*shapes)
    return [first > 0, first, *rest]


in_both("unrecorded_add", lambda xp, a, b: a + b, (10,), (10,))
in_both("scalar_add", lambda xp, a: a + 1.5, (10,))
in_both("broadcast_multiply", lambda xp, a, b: a * b, (8, 10), (10,))
in_both("slice_rows", lambda xp, a: a[1:5], (10, 10))
in_both("gather_rows", lambda xp, a, index: a[index], (10, 10), make=with_rows)

in_both("add_10m", lambda xp, a, b: a + b, (10 * Million,), (10 * Million,))
in_both("multiply_10m", lambda xp, a, b: a * b, (10 * Million,), (10 * Million,))
in_both("relu_10m", lambda xp, a: xp.maximum(a, 0), (10 * Million,))
in_both("copy_10m", lambda xp, a: xp.copy(a), (10 * Million,))
in_both("sum_1m", lambda xp, a: a.sum(), (1000, 1000))
in_both("mean_rows", lambda xp, a: a.mean(1), (1000, 1000))
in_both("mean_columns", lambda xp, a: a.mean(0), (1000, 1000))
in_both("var_rows", lambda xp, a: a.var(1, ddof=1), (1000, 1000))
in_both("cumsum_rows", lambda xp, a: a.cumsum(1), (1000, 1000))
in_both("where_1m", lambda xp, mask, a, b: xp.where(mask, a, b), (Million,), (Million,), make=with_mask)
in_both("masked_fill_1m", lambda xp, mask, a: xp.where(mask, xp.float32(0), a), (Million,), make=with_mask)
in_both("batched_matmul", lambda xp, a, b: a @ b, (64, 64, 64), (64, 64, 64))
in_both("sort_1m", lambda xp, a: (order := xp.argsort(a), a[order]), (Million,))
for size in (64, 128, 256, 512, 1024):
    in_both(f"matmul_{size}", lambda xp, a, b: a @ b, (size, size), (size, size))


@twin
def numpy_transpose_10m(np: ModuleType) -> Callable[[], object]:
    a, = normal((2500, 4000))
    return lambda: np.ascontiguousarray(a.T)


@twin
def jax_transpose_10m(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, lambda a: a.T, normal((2500, 4000)))


def with_gradient(name: str, numpy_pair: Callable | None, jax_function: Callable[[ModuleType], Callable]) -> None:
    """Functions of a million elements, forward and backward; for NumPy an expression of both."""
    def for_numpy(np: ModuleType) -> Callable[[], object]:
        g, x = normal((1000, 1000), (1000, 1000))
        return lambda: numpy_pair(np, g, x)

    def for_jax(jax: ModuleType) -> Callable[[], object]:
        return compiled(jax, vjp(jax, jax_function(jax)), normal((1000, 1000), (1000, 1000)))

    for_numpy.__name__, for_jax.__name__ = f"numpy_{name}_1m", f"jax_{name}_1m"
    if numpy_pair is not None:
        twin(for_numpy)
    twin(for_jax)


def softmax_pair(np: ModuleType, g: object, x: object) -> tuple:
    y = np.exp(x - x.max(1, keepdims=True))
    y /= y.sum(1, keepdims=True)
    return y, (g - (g * y).sum(1, keepdims=True)) * y


def log_softmax_pair(np: ModuleType, g: object, x: object) -> tuple:
    y = x - x.max(1, keepdims=True)
    y -= np.log(np.exp(y).sum(1, keepdims=True))
    return y, g - np.exp(y) * g.sum(1, keepdims=True)


with_gradient("exp", lambda np, g, x: (y := np.exp(x), g * y), lambda jax: jax.numpy.exp)
with_gradient("tanh", lambda np, g, x: (y := np.tanh(x), g * (1 - y * y)), lambda jax: jax.numpy.tanh)
with_gradient("sigmoid", lambda np, g, x: (y := 1 / (1 + np.exp(-x)), g * y * (1 - y)), lambda jax: jax.nn.sigmoid)
with_gradient("silu", lambda np, g, x: (x * (s := 1 / (1 + np.exp(-x))), g * s * (1 + x * (1 - s))),
          lambda jax: jax.nn.silu)
with_gradient("gelu", None, lambda jax: lambda x: jax.nn.gelu(x, approximate=False))      # NumPy has no erf
with_gradient("softmax", softmax_pair, lambda jax: lambda x: jax.nn.softmax(x, 1))
with_gradient("log_softmax", log_softmax_pair, lambda jax: lambda x: jax.nn.log_softmax(x, 1))


@twin
def numpy_cross_entropy(np: ModuleType) -> Callable[[], object]:
    x, = normal((1024, 5000))
    y, rows = np.random.default_rng(1).integers(0, 5000, 1024), np.arange(1024)

    def run() -> tuple:
        logs = x - x.max(1, keepdims=True)
        gradient = np.exp(logs)
        sums = gradient.sum(1, keepdims=True)
        gradient /= sums * 1024
        gradient[rows, y] -= 1 / 1024
        return (np.log(sums[:, 0]) - logs[rows, y]).mean(), gradient
    return run


@twin
def numpy_mlp(np: ModuleType) -> Callable[[], object]:
    x, w1, w2 = normal((32, 64), (64, 64), (64, 10))
    b1, b2 = np.zeros(64, np.float32), np.zeros(10, np.float32)
    labels, rows = np.random.default_rng(1).integers(0, 10, 32), np.arange(32)

    def run() -> tuple:
        hidden = np.maximum(x @ w1 + b1, 0)
        scores = hidden @ w2 + b2
        logs = scores - scores.max(1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(1, keepdims=True))
        g = np.exp(logs)
        g[rows, labels] -= 1
        g /= 32
        inner = (g @ w2.T) * (hidden > 0)
        return -logs[rows, labels].mean(), x.T @ inner, inner.sum(0), hidden.T @ g, g.sum(0)
    return run


@twin
def numpy_policy(np: ModuleType) -> Callable[[], object]:
    x, w1, w2 = normal((1, 4), (4, 64), (64, 2))
    b1, b2 = np.zeros(64, np.float32), np.zeros(2, np.float32)

    def run() -> object:
        scores = np.tanh(x @ w1 + b1) @ w2 + b2
        shares = np.exp(scores - scores.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)
    return run
