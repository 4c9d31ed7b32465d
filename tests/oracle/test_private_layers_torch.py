"""Private helpers that layers of other packages import give what PyTorch's give."""
from __future__ import annotations

import warnings

import pytest
import torch

import claygrad
from claygrad.compat.answers.nn import functional, init
from claygrad.compat.answers.nn.modules import utils


def mask(t, kind):
    return None if kind is None else t.tensor([[1, 0], [0, 1]], dtype=getattr(t, kind))


def numbers(t, *shape):
    return (t.arange(torch.Size(shape).numel(), dtype=t.float64).reshape(shape) / 7).sin()


def layers(t, f, same):
    q, k = numbers(t, 3, 2, 4), numbers(t, 5, 2, 4)
    v = k if same else k + 1
    return f._in_projection_packed(q, q if same == "all" else k, q if same == "all" else v, numbers(t, 12, 4),
                                   numbers(t, 12))


CASES = {
    "turned": lambda t, f, u: u._reverse_repeat_tuple((1, 2, 3), 2),
    "turned, none": lambda t, f, u: u._reverse_repeat_tuple((1, 2, 3), 0),
    "turned, empty": lambda t, f, u: u._reverse_repeat_tuple([], 2),
    "defaults": lambda t, f, u: u._list_with_default([None, 3], [7, 8, 9]),
    "defaults of none": lambda t, f, u: u._list_with_default((None, None), (5, 6, 8, 9)),
    "defaults of a number": lambda t, f, u: u._list_with_default(3, [7, 8]),
    "too few defaults": lambda t, f, u: u._list_with_default([1, 2], [7, 8]),
    "dtype of none": lambda t, f, u: f._none_or_dtype(None),
    "dtype": lambda t, f, u: f._none_or_dtype(t.ones(1)),
    "dtype of a number": lambda t, f, u: f._none_or_dtype(1),
    "batch size": lambda t, f, u: f._verify_batch_size([2, 3]),
    "batch of one": lambda t, f, u: f._verify_batch_size([1, 3, 1]),
    "softmax of 1": lambda t, f, u: f._get_softmax_dim("softmax", 1, 3),
    "softmax of 2": lambda t, f, u: f._get_softmax_dim("softmax", 2, 3),
    "softmax of 3": lambda t, f, u: f._get_softmax_dim("softmax", 3, stacklevel=3),
    "self-attention": lambda t, f, u: layers(t, f, "all"),
    "keys are values": lambda t, f, u: layers(t, f, "keys"),
    "all different": lambda t, f, u: layers(t, f, ""),
    "apart": lambda t, f, u: f._in_projection(numbers(t, 3, 4), numbers(t, 5, 2), numbers(t, 5, 3), numbers(t, 4, 4),
                                              numbers(t, 4, 2), numbers(t, 4, 3), b_k=numbers(t, 4)),
    "apart, wrong weight": lambda t, f, u: f._in_projection(*[numbers(t, 3, 4)] * 3, *[numbers(t, 4, 3)] * 3),
    "apart, wrong bias": lambda t, f, u: f._in_projection(*[numbers(t, 3, 4)] * 3, *[numbers(t, 4, 4)] * 3,
                                                          b_v=numbers(t, 3)),
}
CASES.update({f"mask {kind} {other} {check}": lambda t, f, u, kind=kind, other=other, check=check: f._canonical_mask(
    mask(t, kind), "attn_mask", getattr(t, str(other), None), "other", t.float64, check_other=check)
    for kind in (None, "bool", "float32", "int64") for other in (None, "bool", "float32") for check in (True, False)})
CASES.update({f"shapes {q} {k} {p} {m}": lambda t, f, u, q=q, k=k, p=p, m=m: f._mha_shape_check(
    t.ones((2,) * q), t.ones((2,) * k), value=t.ones((2,) * k), key_padding_mask=p and t.ones((2,) * p),
    attn_mask=m and t.ones((2,) * m), num_heads=3)
    for q in (1, 2, 3) for k in (2, 3) for p in (None, 1, 2) for m in (None, 1, 2, 3)})


def plain(made):
    if isinstance(made, (claygrad.dtype, torch.dtype)):
        return str(made).split(".")[1]
    if isinstance(made, (claygrad.Tensor, torch.Tensor)):
        return plain(made.dtype), [round(x, 12) for x in made.flatten().tolist()], tuple(made.shape)
    return type(made)(map(plain, made)) if isinstance(made, (list, tuple)) else made


def outcome(case, t, f, u):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = plain(CASES[case](t, f, u))
        except Exception as error:
            made = type(error).__name__, str(error).split("\n")[0].replace("claygrad.", "torch.")
    return made, [str(one.message).split("\n")[0] for one in told]


@pytest.mark.parametrize("case", CASES)
def test_helpers(case):
    assert outcome(case, claygrad, functional, utils) == outcome(case, torch, torch.nn.functional,
                                                                 torch.nn.modules.utils)


@pytest.mark.parametrize(("name", "args"), [("uniform", (-1.0, 2.0)), ("normal", (1.0, 2.0)), ("fill", (3.0,)),
                                            ("zero", ()), ("trunc_normal", (0.0, 1.0, -2.0, 2.0))])
def test_filling_a_leaf(name, args):
    def made(t, home):
        t.manual_seed(3)
        leaf = t.ones(40, dtype=t.float64, requires_grad=True)
        assert getattr(home, f"_no_grad_{name}_")(leaf, *args) is leaf
        return torch.tensor(leaf.tolist(), dtype=torch.float64)
    torch.testing.assert_close(made(claygrad, init), made(torch, torch.nn.init))
