"""Small programs in which random ones once differed from PyTorch, and their siblings."""

from __future__ import annotations

import pytest

from tests.oracle.fuzz.machine import BLIND
from tests.oracle.fuzz.run import compare

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

X = "x = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64, requires_grad=True)"
M = "x = torch.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=torch.float64, requires_grad=True)"
C = "c = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2]], dtype=torch.complex128, requires_grad=True)"

FOUND = {
    "a complex view of reals, conjugated": [M, "y = torch.view_as_complex(x).conj()", "weigh(y * y).backward()"],
    "its adjoint": [M + "; z = x.view(2, 1, 2)", "y = torch.view_as_complex(z).mH", "weigh(y).backward()"],
    "a complex view that a row of one has": ["y = torch.view_as_complex(torch.ones(1, 3)[:, :2])"],
    "a complex view at an odd place": ["y = torch.view_as_complex(torch.ones(1, 3)[:, 1:])"],
    "a complex view of odd rows": ["y = torch.view_as_complex(torch.ones(2, 1, 3)[..., 1:])"],
    "a conjugate seen as its own dtype": [C, "y = c.conj().view(torch.complex128)", "z = c.conj().imag.view(torch.float64)"],
    "a conjugate in place": [C, "y = c * 1", "y.conj_physical_()", "weigh(y).backward()"],
    "a part written, then the gradient in a hook": [
        C, "y = c * 2", "y.register_hook(scaled(0.5, False))", "y.view_as(y).real.sin_()", "r = taken(weigh(y), [c], create_graph=True)",
        "s = again(r, [c])",
    ],
    "a double conjugate whose base was written": [C, "y = c * 1; v = y.conj().conj()", "y.detach().mul_(2)", "weigh(v).backward()"],
    "a view of a complex view whose base was written": [
        M, "y = x * 1; v = torch.view_as_complex(y); w = v.view_as(v)", "y.detach().mul_(2)", "weigh(w + v).backward()",
    ],
    "masked_scatter_ from itself": ["y = torch.arange(6.0)", "y.masked_scatter_(y > 2, y)", "y.masked_scatter_(y > 1, y.flip(0))"],
    "hooks of a node see as many gradients as torch's": [
        M, "a = x.max(1)[0]; b = x.sort(1)[0]; y = x ** 2; z = x.cummax(0)[0]",
        "for t in (a, b, y, z): _ = t.grad_fn.register_prehook(note('before')); _ = t.grad_fn.register_hook(note('after'))",
        "(weigh(a) + weigh(b) + weigh(y) + weigh(z)).backward()",
    ],
    "hooks of a node see gradients in the shape of the inputs": [
        X, "w = torch.ones(1, dtype=torch.float64, requires_grad=True)", "y = x.clone().lerp_(w, 0.3); z = torch.where(x > 0, w, x); u = x * w",
        "for t in (y, z, u): _ = t.grad_fn.register_hook(note('after'))", "(weigh(y) + weigh(z) + weigh(u)).backward()",
    ],
    "a hook of a write into a part": [X, "y = torch.zeros(4, dtype=torch.float64)", "y[1:3] = x[:2]", "_ = y.grad_fn.register_hook(note('after'))",
                                      "weigh(y).backward()"],
    "an input that a hook changes, on the way to another": [
        X, "y = x.sin(); _ = y.register_hook(lambda g: g * 0.5)", "r = taken(weigh(y), [y, x], retain_graph=True)",
        "s = taken(weigh(y), [y], retain_graph=True)", "t = taken(weigh(y), [x, y], create_graph=True)",
    ],
    "a view turned under no_grad": [M, "v = x.view(4); w = x[1:]", "with torch.no_grad(): v.unsqueeze_(0); w.t_()", "(weigh(v) + weigh(w)).backward()"],
    "a view moved under no_grad": [X, "v = x[1:]", "with torch.no_grad(): v.as_strided_((2,), (1,), 2)", "weigh(v).backward()"],
    "a part of a chunk turned under no_grad": [X, "v = x.chunk(4)[0]", "with torch.no_grad(): v.swapaxes_(0, 0)"],
    "what mark_dirty does to a kept gradient": [X, "y = x * 2; y.retain_grad()", "weigh(y).backward(retain_graph=True)", "z = Double.apply(y)"],
    "mark_dirty of a view beside another result": [X, "y = x * 1", "z = AddTo.apply(y[:2], x[2:])", "z = AddTo.apply(y, x)"],
    "the gradient of a gradient through a write into a part": [
        M, "y = x.clone()", "y[..., 0].tanh_()", "r = taken([y], [x], [y.clone()], create_graph=True, retain_graph=True)", "s = taken(weigh(r[0]), [x])",
    ],
    "aliases of an inference tensor": [
        X, "with torch.inference_mode(): v = x.sin()", "v.data.mul_(2)", "v.detach().add_(1)", "v.detach().unsqueeze_(0)", "v.detach()[:2].zero_()",
        "a = v.data._version",
    ],
    "another dtype in inference mode": [M, "with torch.inference_mode(): v = x.view(torch.complex128)", "v.mul_(2)"],
    "a hook after accumulation into a leaf that is none any more": [
        X, "_ = x.register_post_accumulate_grad_hook(lambda p: note('after')(p.detach()))", "y = x.sin()", "x.detach_()", "weigh(y).backward()",
    ],
    "a recurrent layer's output": [
        "m = made(torch.nn.GRU(2, 2)); n = made(torch.nn.LSTM(2, 2, batch_first=True, bidirectional=True))", M + "; z = x.view(2, 1, 2) * 1",
        "y = m(z)[0]; w = n(z)[0]", "y.mul_(2)", "(weigh(y) + weigh(w)).backward()",
    ],
    **{
        f"another dtype or bits, {before}its data replaced{after}: {view}": [
            C, "y = c * 1", f"v = {view}", before and "y.mul_(2)", "v.data = torch.ones(*v.shape, 3, dtype=v.dtype)[..., 1]", after and ("v.mul_(3)" if "then" in after else "y.mul_(2)"),
            "weigh(v).backward()",
        ]
        for view in ("y.real", "y.imag", "y[1].real", "y.real.t()", "y.conj()", "y.conj().imag", "y.mH", "torch.view_as_real(y)[1, :, 1]")
        for before in ("", "base written, ") for after in ("", ", base written", ", then written") if before or after
    },
    "a view of a parameter that became another dtype": [
        M, "v = x[:]; w = x[1]", "x.data = x.data.float()", "with torch.no_grad(): v.mul_(2); w.add_(1)", "y = (v * v).sum() + (w * w).sum()", "y.backward()",
    ],
    "sgn of complex numbers, hooks of its node": [
        C, "y = c.sgn()", "_ = y.grad_fn.register_hook(note('after'))", "r = taken(weigh(y), [c], create_graph=True)", "s = again(r, [c], create_graph=True)",
        "t = again(s, [c])",
    ],
    "a parameter on an inference tensor": [
        "with torch.inference_mode(): x = torch.ones(2)", "p = torch.nn.Parameter(x.detach())", "q = torch.nn.Parameter(x, False)",
        "with torch.inference_mode(): r = torch.nn.Parameter(x)",
    ],
    **{
        f"the gradient of {f} written": [M, f"y = x.{f}", "g = taken([y], [x], [torch.ones_like(y)])[0]", "g.view(-1).div_(2)", "g.t().mul_(3)"]
        for f in ("mean()", "mean(1)", "mean(0, keepdim=True)", "var()", "norm()", "nansum()", "prod()", "logsumexp(0)", "std(1)", "amax(0)")
    },
    **{
        f"versions after {text}": [X, "x.grad = torch.ones_like(x)", f"o = torch.optim.{text}", "o.step()", "o.step()"]
        for text in ("AdamW([x])", "AdamW([x], weight_decay=0)", "NAdam([x])", "NAdam([x], weight_decay=0.1, decoupled_weight_decay=True)",
                     "ASGD([x])", "RAdam([x], weight_decay=0.1, decoupled_weight_decay=True)", "Adam([x], amsgrad=True)", "Rprop([x])")
    },
}


@pytest.mark.parametrize("blind", [False, True], ids=["watched", "blind"])
@pytest.mark.parametrize("name", FOUND)
def test_programs_that_once_differed(name, blind):
    lines = [line for line in FOUND[name] if line]
    lines = [BLIND, *lines] if blind else lines
    verdict = compare(lines, claygrad, torch, "copies")
    assert verdict.difference is None
    assert not verdict.asserted or "inference" in name



@pytest.mark.parametrize(
    ("layer", "dims"),
    [("batch_norm(x, None, None, None, None, True)", 0), ("layer_norm(x, (3,))", 1), ("group_norm(x, 1)", 1), ("rms_norm(x, (3,))", None)],
)
def test_third_derivatives_of_norms_are_those_of_their_formula(layer, dims):
    """PyTorch's own are wrong from the third on (it takes the saved moments for constants)."""

    def derivatives(f):
        x = claygrad.tensor([[1.5, -0.2, 0.7], [0.3, 2.0, -1.1], [0.1, 0.4, -0.9]], dtype=claygrad.float64, requires_grad=True)
        weights = claygrad.arange(9.0, dtype=claygrad.float64).reshape(3, 3).cos()
        found, y = [], f(x)
        for _ in range(4):
            y, = claygrad.autograd.grad((y.square() * weights).sum(), x, create_graph=True)
            found.append(y.detach())
        return found

    def formula(x):
        if dims is None:
            return x / (x.square().mean(1, keepdim=True) + claygrad.finfo(x.dtype).eps).sqrt()
        return (x - x.mean(dims, keepdim=True)) / (x.var(dims, correction=0, keepdim=True) + 1e-5).sqrt()

    for ours, true in zip(derivatives(lambda x: eval(f"F.{layer}", {"F": claygrad.nn.functional, "x": x})), derivatives(formula), strict=True):
        assert claygrad.allclose(ours, true, rtol=1e-7)
