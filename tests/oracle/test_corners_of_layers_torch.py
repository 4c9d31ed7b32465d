"""Corners of operations, layers and optimizers against torch: values, strides and texts, one expression each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

nan, inf = float("nan"), float("inf")


def _shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shown(v) for v in value]
    if hasattr(value, "stride") and hasattr(value, "tolist"):
        line = numpy.array(value.detach().tolist(), dtype=complex).round(5).reshape(-1).tolist()
        return [str(value.dtype).rpartition(".")[2], tuple(value.shape), tuple(value.stride()), [str(x) for x in line]]
    return value


def _outcome(m: Any, make: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _shown(make(m))
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0].replace("claygrad", "torch")


def _gradient(f: Callable[[Any, Any], Any], values: list, dtype: str = "float64") -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        x = m.tensor(values, dtype=getattr(m, dtype), requires_grad=True)
        return m.autograd.grad(f(m, x).abs().sum(), x)

    return run


def _twice(reduce: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        s = m.tensor([0.0, 0.0, 3.0], dtype=m.float64, requires_grad=True)
        (g,) = m.autograd.grad(reduce(m, s).sum(), s, create_graph=True)
        return m.autograd.grad(g.sum(), s)

    return run


def _attention(m: Any) -> Any:
    layer, x = m.nn.MultiheadAttention(4, 2), m.zeros(3, 0, 4)
    return [tuple(layer(x, x, x, need_weights=False)[0].shape), tuple(layer(x, x, x)[1].shape)]


def _scaled(m: Any) -> Any:
    class Own(m.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure: Any = None, grad_scaler: Any = None) -> Any:
            return None if grad_scaler is None else type(grad_scaler).__name__

    p = m.ones(2, requires_grad=True)
    scaler, optimizer = m.amp.GradScaler("cpu"), Own([p], lr=0.1)
    scaler.scale(p.sum()).backward()
    return scaler.step(optimizer)


def _buffer(m: Any) -> Any:
    class Like:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return None

    module = m.nn.Module()
    module.register_buffer("a", Like())
    return list(module._buffers)


def _materialized(m: Any) -> Any:
    p = m.nn.UninitializedParameter()
    p.materialize(10)
    return tuple(p.shape)


def _tracked(m: Any) -> Any:
    layer = m.nn.InstanceNorm2d(3, track_running_stats=True)
    return layer(m.arange(24, dtype=m.float64).reshape(2, 3, 2, 2)), layer.running_mean, layer.running_var


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "nansum as int64": lambda m: m.nansum(m.tensor([1.5, nan, 2.5]), dtype=m.int64),
    "nansum as int32 along an axis": lambda m: m.nansum(m.tensor([[1.5, nan], [-2.5, 7.0]]), 1, dtype=m.int32),
    "nansum of complex": lambda m: m.nansum(m.tensor([1j]), dtype=m.float32),
    "unique rows with NaN": lambda m: m.unique(m.tensor([[inf, 1], [nan, nan], [-0.0, 1], [inf, 1], [1, nan]]), dim=0,
                                               return_inverse=True, return_counts=True),
    "unique columns with NaN": lambda m: m.unique(m.tensor([[inf, nan, inf], [0, nan, 0.0]]), dim=1),
    "unique_consecutive of nothing": lambda m: m.unique_consecutive(m.zeros(0, 3), dim=1),
    "unique_consecutive of an empty vector": lambda m: m.unique_consecutive(m.zeros(0), return_inverse=True, return_counts=True),
    "mode with NaN": lambda m: tuple(m.tensor([-inf, inf, nan, -0.0, -inf]).mode()),
    "mode of NaN": lambda m: tuple(m.tensor([[1.0, nan, nan, 2, 2], [nan, nan, nan, nan, nan]], dtype=m.float16).mode()),
    "pdist 0 with inf": lambda m: m.pdist(m.tensor([[1.0, inf], [1.0, inf], [0, 1]]), 0),
    "cdist 0 with inf": lambda m: m.cdist(m.tensor([[1.0, inf], [1.0, nan]]), m.tensor([[1.0, inf], [0, 1]]), 0),
    "gradient of cdist 0": _gradient(lambda m, x: m.cdist(x, m.zeros(2, 2, dtype=x.dtype), 0), [[1.0, 2], [3, 4]]),
    "gradient of cdist inf": _gradient(lambda m, x: m.cdist(x, m.zeros(2, 2, dtype=x.dtype), inf), [[1.0, -1], [3, 4]]),
    "gradient of pdist inf": _gradient(lambda m, x: m.pdist(x, inf), [[1.0, -1], [3, 1], [0, 0]]),
    "std_mean of large numbers": lambda m: m.std_mean(m.tensor([1e30, 2e30, 3e30])),
    "gradient of std_mean": _gradient(lambda m, x: m.std_mean(x)[0], [1e30, 3e30, -1e30], "float32"),
    "pow of negative numbers": lambda m: [m.autograd.grad((b ** z).abs().sum(), z) for b, z in [
        (m.tensor([-2.0, 3.0]), m.tensor([1 + 2j, -1j], requires_grad=True))]],
    "scatter_reduce twice": _twice(lambda m, s: m.ones(1, dtype=m.float64).scatter_reduce(0, m.tensor([0, 0, 0]), s, "prod")),
    "index_reduce twice": _twice(lambda m, s: m.ones(1, dtype=m.float64).index_reduce(0, m.tensor([0, 0, 0]), s, "prod")),
    "gradient of logit": _gradient(lambda m, x: m.logit(x), [-0.0, 0.0, 1.0]),
    "gradient of logit with eps": _gradient(lambda m, x: m.logit(x, 0.0), [-0.0, nan, 1.0]),
    "logcumsumexp": lambda m: m.logcumsumexp(m.tensor([inf, 0, 1]), 0),
    "cumsum of halves": lambda m: m.cumsum(m.full((3,), 60000, dtype=m.half), 0, dtype=m.float32),
    "gradient of cumsum of halves": _gradient(lambda m, x: m.cumsum(x, 0, dtype=m.float32), [1.0, 2.0], "float16"),
    "roll with no dims": lambda m: m.arange(6).reshape(2, 3).roll(1, None),
    "randint with a named size": lambda m: tuple(m.randint(2, 5, size=(3, 1)).shape),
    "randperm into bytes": lambda m: sorted(m.randperm(9, out=m.empty(0, dtype=m.uint8)).tolist()),
    "float_power into": lambda m: m.float_power(m.full((2,), 3.0), 2, out=m.empty(2, dtype=m.float64)),
    "float_power into floats": lambda m: m.float_power(m.full((2,), 3.0), 2, out=m.empty(2)),
    "cat of nothing": lambda m: m.cat([m.empty(0), m.empty(0)], dim=1),
    "threshold_ of an expanded tensor": lambda m: m.nn.functional.threshold_(m.ones(1).expand(3), 2, 0),
    "dirac_ of no rows": lambda m: m.nn.init.dirac_(m.empty(0, 3, 3)),
    "attention of no examples": _attention,
    "encoder of no examples": lambda m: tuple(m.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(m.zeros(0, 3, 4)).shape),
    "grad_scaler": _scaled,
    "buffer of a tensor-like": _buffer,
    "materialize(10)": _materialized,
    "tracking in another precision": _tracked,
    **{f"{f}({a}, {b})": lambda m, f=f, a=a, b=b: getattr(m, f)(a, b) for f in ("add", "sub", "mul", "div", "floor_divide")
       for a, b in ((1.5, 2.5), (1, 2), (True, 2), (1, 2.5))},
    **{f"{f} with its factor first": lambda m, f=f, n=n: getattr(m, f)(m.ones(2), 2, *[m.full((2,), 3.0)] * n)
       for f, n in (("add", 1), ("sub", 1), ("addcmul", 2), ("addcdiv", 2))},
    "addmm with factors": lambda m: m.addmm(2, m.ones(2, 2), 3, m.ones(2, 2), m.ones(2, 2)),
    "addmm_ with factors": lambda m: m.ones(2, 2).addmm_(2, 3, m.ones(2, 2), m.ones(2, 2)),
    **{f"conv{d}d of {c} channels, {n} examples": lambda m, d=d, c=c, n=n: getattr(m.nn.functional, f"conv{d}d")(
        m.ones(n, c, *(5,) * d), m.ones(3, c, *(2,) * d), m.ones(3)) for d in (1, 2, 3) for c, n in ((0, 2), (0, 0), (2, 0))},
    **{f"histc of {x} in {bins}": lambda m, x=x, bins=bins: m.histc(m.tensor(x), bins) for bins in (1, 3, 4) for x in (
        [1e38, -3e38, 3e38], [-2e38, 1e38, 2e38], [0.0, 3e38], [1e38, 2e38, 3e38], [1e30], [3e38], [1e17], [16777216.0])},
    **{f"norm {p} of one number": lambda m, p=p: m.linalg.vector_norm(m.tensor([3e30]), p) for p in (1, 2, 3, 0.5, -1, inf, 0)},
    **{f"gradient of {f} at NaN": _gradient(lambda m, x, f=f: getattr(m.nn.functional, f)(x), [nan, inf, -inf, 0.5, -1, 6])
       for f in ("relu6", "hardtanh", "softshrink", "hardshrink", "relu", "leaky_relu")},
    **{f"{f} into a view of {n}": lambda m, f=f, a=a, n=n: [getattr(m, f)(*a, out=v) for v in [m.zeros(4, 4)[:2, :2]]]
       for n in (4, 6) for f, a in (("arange", (n,)), ("range", (1, n)), ("linspace", (0, 1, n)), ("logspace", (0, 1, n)))},
    **{f"{f} beside a view": lambda m, f=f, a=a: [x for x in [m.zeros(4, 4)] if getattr(m, f)(*a, out=x[:2, :2]) is not None]
       for f, a in (("arange", (4,)), ("range", (1, 4)), ("linspace", (0, 1, 4)), ("logspace", (0, 1, 4)))},
    **{f"{f} of a tensor that requires grad": lambda m, f=f: getattr(m, f)(
        m.ones(2), m.ones(2), alpha=m.tensor(2.0, requires_grad=True)) for f in ("add", "sub")},
    "std of a tensor that requires grad": lambda m: type(_outcome(m, lambda m: m.std(
        m.ones(2), correction=m.tensor(1.0, requires_grad=True)))) is tuple,
    "arange of a tensor that requires grad": lambda m: m.arange(m.tensor(5.0, requires_grad=True)),
    **{f"resize_ to {n} axes": lambda m, n=n, f=f: m.empty(0).resize_((2, 3, 4, 5, 2)[:n], memory_format=getattr(m, f)).stride()
       for n, f in ((4, "channels_last"), (5, "channels_last_3d"), (3, "contiguous_format"), (3, "channels_last"))},
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression(name: str) -> None:
    assert _outcome(claygrad, EXPRESSIONS[name]) == _outcome(torch, EXPRESSIONS[name])


# --- memory formats: the strides of what layers make of images with their channels last

LAYERS: dict[str, Callable[[Any], Any]] = {
    "BatchNorm2d": lambda m: m.nn.BatchNorm2d(4), "BatchNorm2d, evaluating": lambda m: m.nn.BatchNorm2d(4).eval(),
    "GroupNorm": lambda m: m.nn.GroupNorm(2, 4), "InstanceNorm2d": lambda m: m.nn.InstanceNorm2d(4),
    "PixelShuffle": lambda m: m.nn.PixelShuffle(2), "PixelUnshuffle": lambda m: m.nn.PixelUnshuffle(2),
    "ChannelShuffle": lambda m: m.nn.ChannelShuffle(2), "MaxPool2d": lambda m: m.nn.MaxPool2d(2),
    "AvgPool2d": lambda m: m.nn.AvgPool2d(2), "AdaptiveAvgPool2d": lambda m: m.nn.AdaptiveAvgPool2d(3),
    "AdaptiveAvgPool2d to one": lambda m: m.nn.AdaptiveAvgPool2d(1), "Conv2d": lambda m: m.nn.Conv2d(4, 3, 3),
    "ConvTranspose2d": lambda m: m.nn.ConvTranspose2d(4, 3, 3), "Upsample": lambda m: m.nn.Upsample(scale_factor=2),
    "ZeroPad2d": lambda m: m.nn.ZeroPad2d(1), "ReflectionPad2d": lambda m: m.nn.ReflectionPad2d(1),
    "LocalResponseNorm": lambda m: m.nn.LocalResponseNorm(2), "Softmax2d": lambda m: m.nn.Softmax2d(),
    "PReLU": lambda m: m.nn.PReLU(4), "GELU": lambda m: m.nn.GELU(), "Dropout2d": lambda m: m.nn.Dropout2d(),
    "BatchNorm3d": lambda m: m.nn.BatchNorm3d(4), "GroupNorm, volumes": lambda m: m.nn.GroupNorm(2, 4),
    "MaxPool3d": lambda m: m.nn.MaxPool3d(2), "Upsample, volumes": lambda m: m.nn.Upsample(scale_factor=2),
    "ReplicationPad3d": lambda m: m.nn.ReplicationPad3d(1),
}


@pytest.mark.parametrize("examples", [1, 2])
@pytest.mark.parametrize("name", LAYERS)
def test_channels_stay_last(name: str, examples: int) -> None:
    dims = 3 if "3d" in name or "volumes" in name else 2

    def run(m: Any) -> Any:
        m.manual_seed(0)
        layer, shape = LAYERS[name](m), (examples, 4, *(6,) * dims)
        x = m.arange(float(numpy.prod(shape))).reshape(shape).sin()
        x = x.contiguous(memory_format=m.channels_last if dims == 2 else m.channels_last_3d)
        made = layer(x)
        rows = layer(x.contiguous())
        same = "Dropout" in name or m.allclose(made.detach(), rows.detach(), atol=1e-4)
        return tuple(made.shape), tuple(made.stride()), bool(same)

    assert run(claygrad) == run(torch)


# --- differentiable optimizers: no gradient of a parameter, a state or a learning rate is lost

STATES: dict[str, tuple[dict, dict]] = {
    "SGD": ({"momentum": 0.5}, {"momentum_buffer": 10}), "Adadelta": ({}, {"square_avg": 10, "acc_delta": 10}),
    "Adam": ({"amsgrad": True}, {"exp_avg": 10, "exp_avg_sq": 10, "max_exp_avg_sq": 10}), "Adagrad": ({}, {"sum": 10}),
    "RMSprop": ({"momentum": 0.1}, {"square_avg": 10, "momentum_buffer": 10}), "Adamax": ({}, {"exp_avg": 10, "exp_inf": 10}),
    "NAdam": ({}, {"exp_avg": 10, "exp_avg_sq": 10, "mu_product": 1}), "RAdam": ({}, {"exp_avg": 10, "exp_avg_sq": 10}),
}


@pytest.mark.parametrize("rate", [False, True])
@pytest.mark.parametrize("name", STATES)
def test_differentiable_optimizers(name: str, rate: bool) -> None:
    options, sizes = STATES[name]

    def run(m: Any) -> Any:
        draw = numpy.random.default_rng(0)
        p, g = (m.tensor(draw.random(10), requires_grad=True) for _ in range(2))
        state = {key: m.tensor(draw.random(n) if n > 1 else 0.9, dtype=m.float64, requires_grad=True) for key, n in sizes.items()}
        lr = m.tensor(0.9, dtype=m.float64, requires_grad=True)
        q = p.clone()
        q.grad = g
        optimizer = getattr(m.optim, name)([q], lr=lr if rate else 0.9, differentiable=True, **options)
        optimizer.state[q].update({key: value.clone() for key, value in state.items()} | {"step": m.tensor(10.0)})
        optimizer.step()
        ends = [q, *(v for v in optimizer.state[q].values() if getattr(v, "requires_grad", False))]
        total = sum((i + 1) * v.sin().sum() for i, v in enumerate(ends))
        return [x.tolist() for x in m.autograd.grad(total, [p, g, *state.values(), *([lr] if rate else [])])]

    try:
        other = run(torch)
    except TypeError:                       # torch takes no such rate here
        assert all(numpy.isfinite(x).all() for x in run(claygrad))
        return
    for mine, found in zip(run(claygrad), other, strict=True):
        numpy.testing.assert_allclose(mine, found, rtol=1e-7, atol=1e-9)
