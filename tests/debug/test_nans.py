"""trace_nans() stops at the first operation that makes a NaN or an infinity, and at nothing else."""

from __future__ import annotations

import math
import re
import threading

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.core.graph.finite import kinds
from claygrad.debug import NonFiniteError, trace_nans

INF, NAN = math.inf, math.nan


def zeros(requires_grad=False):
    return torch.zeros(3, requires_grad=requires_grad)


# What is looked at

@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 7, 64, 5000, 100_000])
@pytest.mark.parametrize(("value", "found"), [(NAN, {"nan"}), (INF, {"inf"}), (-INF, {"inf"}), (1e4, set()), (-0.0, set())])
def test_kinds(dtype, size, value, found):
    t = torch.ones(size, dtype=getattr(torch, dtype))
    for place in {0, size // 2, size - 1}:
        t.fill_(3)
        t[place] = value
        assert kinds(t) == found
    assert kinds([torch.ones(2), (t,)]) == found


def test_kinds_of_other_layouts():
    t = torch.ones(6, 8)
    t[3, 5] = NAN
    assert kinds(t.T) == {"nan"}
    assert kinds(t[::2]) == set()
    assert kinds(t[1::2]) == {"nan"}
    assert kinds(t[:, 5]) == {"nan"}
    assert kinds(t[:, :5]) == set()
    assert kinds(t[3, 5].expand(4)) == {"nan"}
    assert kinds(torch.tensor([INF, NAN])) == {"nan", "inf"}
    assert kinds(torch.arange(3)) == set()
    assert kinds(torch.ones(0)) == set()
    assert kinds(t.to_sparse()) == {"nan"}
    assert kinds(torch.empty(3, device="meta")) == set()


# What it stops at

@pytest.mark.parametrize(("program", "name", "made"), [
    (lambda: (zeros() - 1).log(), "log", "nan"),
    (lambda: zeros().log(), "log", "inf"),
    (lambda: 1 / zeros(), "reciprocal", "inf"),
    (lambda: zeros() / zeros(), "div", "nan"),
    (lambda: zeros().add_(1e38).mul_(1e38), "mul_", "inf"),
    (lambda: (zeros() + 1000).exp(), "exp", "inf"),
    (lambda: (zeros() + 1e30).half(), "half", "inf"),
    (lambda: torch.nn.functional.linear(torch.full((1, 3), 1e30), torch.full((2, 3), 1e30)), "linear", "inf"),
    (lambda: torch.einsum("i,i->", zeros() + 1e30, zeros() + 1e30), "einsum", "inf"),
    (lambda: torch.full((2, 2), -INF).softmax(-1), "softmax", "nan"),
    (lambda: torch.full((2,), INF) - torch.full((2,), INF), "sub", "nan"),
    (lambda: torch.sqrt(zeros() - 1, out=torch.empty(3)), "sqrt", "nan"),
])
def test_forward(program, name, made):
    with trace_nans(), pytest.raises(NonFiniteError, match=rf"^{name} made {made}") as error:
        program()
    assert error.value.call.name == name
    assert "test_nans.py" in str(error.value)
    program()                                         # nothing is left behind


@pytest.mark.parametrize(("forward", "name", "made"), [
    (lambda w: w.sqrt(), "SqrtBackward0", "inf"),
    (lambda w: (w * 1).norm() * 0, "", ""),
    (lambda w: torch.where(w > 1, w.sqrt(), w), "SqrtBackward0", "nan"),
    (lambda w: (w + 1e-30).reciprocal() * 1e-30, "ReciprocalBackward0", "inf"),
])
def test_backward(forward, name, made):
    w = zeros(True)
    with trace_nans():
        loss = forward(w).sum()                       # the forward's line
        if not name:
            loss.backward()
            return
        with pytest.raises(NonFiniteError, match=rf"^{name} made {made}") as error:
            loss.backward()                           # the backward's line
    text = str(error.value)
    assert re.search(r"its forward ran at .*test_nans.py:\d+, in <lambda>", text)
    assert "the backward's line" in text
    assert "gradient: float32 (3,)" in text


def test_custom_functions():
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 0.5

        @staticmethod
        def backward(ctx, g):
            return g / 0
    w = zeros(True)
    with trace_nans(), pytest.raises(NonFiniteError, match=r"^HalfBackward made inf"):
        Half.apply(w).sum().backward()


def test_optimizer_steps():
    w = torch.full((3,), 3e38, requires_grad=True)
    w.grad = torch.full((3,), -3e38)
    with trace_nans(), pytest.raises(NonFiniteError, match=r"^the step of the optimizer made inf"):
        torch.optim.SGD([w], lr=10.0).step()


def test_the_text():
    class Block(nn.Module):
        def forward(self, x):
            return (x - 1).log()                      # the line that fails

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Identity(), Block()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    with trace_nans(), pytest.raises(NonFiniteError) as error:
        Model()(torch.tensor([0.5, 1.0, 3.0]))
    lines = str(error.value).splitlines()
    assert lines[0] == "log made nan and inf"
    assert "the line that fails" in lines[1]
    assert lines[2] == "  in blocks.1: Block"
    assert lines[3] == "  input: float32 (3,), from -0.5 to 2"
    assert lines[4] == "  result: float32 (3,), 1 of 3 nan, 1 of 3 -inf, the first at [0]"
    assert re.fullmatch(r"  If it is meant: trace_nans\(allow='log'\) or trace_nans\(allow='test_nans.py:\d+'\)", lines[5])


def test_the_module_of_a_backward():
    model = nn.Sequential(nn.Linear(2, 2), nn.Identity())
    model[1].forward = lambda x: (x * 0).sqrt()
    with trace_nans(), pytest.raises(NonFiniteError, match=r"SqrtBackward0 made inf(.|\n)*  in 1: Identity"):
        model(torch.ones(1, 2)).sum().backward()


def test_which_input_had_it():
    mask = torch.full((2, 2), -INF)
    with trace_nans(), pytest.raises(NonFiniteError, match="other had it first"):
        torch.zeros(2, 2) * mask


def test_nan_from_outside():
    data = torch.tensor([1.0, NAN])
    with trace_nans():
        with pytest.raises(NonFiniteError, match=r"^mul got NaN, which no operation made"):
            data * 2
        assert torch.isnan(data).tolist() == [False, True]
        assert data.nan_to_num().tolist() == [1, 0]
        assert data.nansum().item() == 1
    with trace_nans(given=False):
        data * 2


# What it lets pass

@pytest.mark.parametrize("program", [
    lambda: zeros().masked_fill(torch.tensor([True, False, True]), -INF).softmax(-1),
    lambda: zeros().masked_fill_(torch.tensor([True, False, True]), -INF).exp(),
    lambda: torch.where(torch.tensor([True, False, True]), zeros(), -INF).max(),
    lambda: torch.full((3, 3), -INF).triu(1) * 1,
    lambda: torch.full_like(zeros(), INF).clamp(max=1),
    lambda: zeros().fill_(INF),
    lambda: zeros().new_full((2,), -INF) + 1,
    lambda: torch.nn.functional.pad(zeros(), (1, 1), value=-INF),
    lambda: (torch.empty(1000).fill_(NAN), torch.empty_like(torch.zeros(1000)))[1],
    lambda: torch.tensor([NAN, INF]),
    lambda: torch.nn.functional.scaled_dot_product_attention(torch.ones(1, 4, 2), torch.ones(1, 4, 2), torch.ones(1, 4, 2), is_causal=True),
    lambda: torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=1),
    lambda: torch.logsumexp(torch.tensor([-INF, 0.0]), 0),
    lambda: zeros() + NAN,
])
def test_deliberate(program):
    with trace_nans():
        program()


def test_a_masked_attention_trains():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    optimizer = torch.optim.AdamW(layer.parameters())
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    with trace_nans():
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.randn(2, 5, 8), src_mask=mask).pow(2).mean().backward()
            optimizer.step()


@pytest.mark.parametrize("allow", ["log", ["exp", "log"], torch.log, [torch.log]])
def test_allowed_operations(allow):
    with trace_nans(allow=allow):
        y = (zeros() - 1).log()
        y + 1                                         # and what comes of it
        with pytest.raises(NonFiniteError):
            zeros().rsqrt()


def test_allowed_lines():
    here = test_allowed_lines.__code__.co_firstlineno
    with trace_nans(allow=f"test_nans.py:{here + 3}"):
        (zeros() - 1).log()
        with pytest.raises(NonFiniteError):
            zeros().log()
    with trace_nans(allow=f"nans.py:{here + 7}"), pytest.raises(NonFiniteError):
        zeros().log()
    with pytest.raises(TypeError, match="allow= takes"):
        trace_nans(allow=[3])


def test_allowed_nodes():
    w = zeros(True)
    with trace_nans(allow="SqrtBackward0"):
        w.sqrt().sum().backward()
    assert w.grad.isinf().all()


def test_nan_alone():
    with trace_nans(inf=False):
        zeros().log()
        with pytest.raises(NonFiniteError):
            (zeros() - 1).log()


# Ways to switch it on

def test_decorator():
    @trace_nans()
    def compute(x, again=True):
        "Its own words."
        return compute(x, again=False) if again else x.log()
    assert compute.__doc__ == "Its own words."
    for _ in range(2):
        with pytest.raises(NonFiniteError):
            compute(zeros())
    zeros().log()
    with pytest.raises(TypeError, match="decorates functions"):
        trace_nans()(3)


def test_for_the_whole_program():
    tracer = trace_nans().start()
    try:
        with pytest.raises(NonFiniteError):
            zeros().log()
        caught = []

        def work():
            try:
                zeros().log()
            except NonFiniteError as error:
                caught.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert len(caught) == 1
    finally:
        tracer.stop()
    zeros().log()


def test_one_thread():
    failed = []

    def work():
        try:
            zeros().log()
        except NonFiniteError as error:
            failed.append(error)
    with trace_nans(threads="own"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert failed == []


# Anomaly mode

def test_anomaly_mode_says_what_was_given():
    w = zeros(True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        y = (w.sqrt() * 0).sum()
        with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"), pytest.raises(RuntimeError) as error:
            y.backward()
    lines = str(error.value).splitlines()
    assert lines[0] == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert "test_nans.py" in lines[1]
    assert lines[2:4] == ["  gradient: float32 (3,), from 0 to 0", "  saved result: float32 (3,), from 0 to 0"]


def test_anomaly_mode_and_observers():
    w = zeros(True)
    with torch.autograd.set_detect_anomaly(True), trace_nans():
        y = w.exp().sum()
        y.backward()
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        w.sqrt().sum().backward()
    assert w.grad.isinf().all()
