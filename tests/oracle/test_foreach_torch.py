"""Every `_foreach_` function of PyTorch's, in all its forms."""
from __future__ import annotations

import pytest
import torch

import claygrad

NAMES = [name for name in dir(torch) if name.startswith("_foreach")]
SHAPES = [(2,), (3, 2), (), (1, 4)]


def lists(library, dtype, seed):
    draws = torch.Generator().manual_seed(seed)
    made = []
    for shape in SHAPES:
        values = torch.rand(shape, generator=draws, dtype=torch.float64) * 0.8 + 0.1
        made.append(library.tensor((values * 10 if dtype == "int64" else values).tolist(),
                                   dtype=getattr(library, dtype)))
    return made


FORMS = {
    "alone": lambda t, a, b, c: (a,),
    "number": lambda t, a, b, c: (a, 0.5),
    "whole number": lambda t, a, b, c: (a, 2),
    "numbers": lambda t, a, b, c: (a, [0.5, 1.5, 2.5, 3.5]),
    "tensors": lambda t, a, b, c: (a, b),
    "tensors, numbers": lambda t, a, b, c: (a, b, [0.5, 1.5, 2.5, 3.5]),
    "tensors, number": lambda t, a, b, c: (a, b, 0.25),
    "two lists": lambda t, a, b, c: (a, b, c),
    "two lists, number": lambda t, a, b, c: (a, b, c, 0.5),
    "two lists, numbers": lambda t, a, b, c: (a, b, c, [0.5, 1.5, 2.5, 3.5]),
    "two lists, tensor": lambda t, a, b, c: (a, b, c, t.tensor([0.5, 1.5, 2.5, 3.5])),
    "a tensor": lambda t, a, b, c: (a, t.tensor(2.0)),
    "a longer tensor": lambda t, a, b, c: (a, t.ones(2)),
    "number first": lambda t, a, b, c: (2, a),
    "too few": lambda t, a, b, c: (a, b[:2]),
    "too few numbers": lambda t, a, b, c: (a, [1.0]),
    "none": lambda t, a, b, c: ([],),
    "no list": lambda t, a, b, c: (a[0],),
    "text": lambda t, a, b, c: (a, "x"),
    "alpha": lambda t, a, b, c: ((a, b), {"alpha": 0.5}),
    "alpha of a number": lambda t, a, b, c: ((a, 1), {"alpha": 0.5}),
    "value": lambda t, a, b, c: ((a, b, c), {"value": 0.5}),
    "named": lambda t, a, b, c: ((), {"self": a, "other": b}),
    "named number": lambda t, a, b, c: ((), {"self": a, "scalar": 2}),
    "named numbers": lambda t, a, b, c: ((a,), {"scalars": [1, 2, 3, 4]}),
    "named other number": lambda t, a, b, c: ((a,), {"other": 2}),
    "named scalar of tensors": lambda t, a, b, c: ((a,), {"scalar": b}),
    "named scalar of a tensor": lambda t, a, b, c: ((a,), {"scalar": t.tensor(2)}),
    "exponent": lambda t, a, b, c: ((a,), {"exponent": 2}),
    "exponents": lambda t, a, b, c: ((), {"self": a, "exponent": [1, 2, 3, 0.5]}),
    "exponent tensors": lambda t, a, b, c: ((a,), {"exponent": b}),
    "exponent of a number": lambda t, a, b, c: ((), {"self": 2, "exponent": b}),
    "alpha of a tensor": lambda t, a, b, c: ((a, t.tensor(2.0)), {"alpha": 2}),
    "alpha as text": lambda t, a, b, c: ((a, b), {"alpha": "x"}),
    "alpha by position": lambda t, a, b, c: (a, b, 1),
    "two lists, named numbers": lambda t, a, b, c: ((a, b, c), {"scalars": [0.5, 1.5, 2.5, 3.5]}),
    "two lists, a named number": lambda t, a, b, c: ((a, b, c), {"scalars": 2}),
    "two lists, value of numbers": lambda t, a, b, c: ((a, b, c), {"value": [0.5, 1.5, 2.5, 3.5]}),
    "three lists": lambda t, a, b, c: (a, b, c, a),
    "two lists, scalar tensor": lambda t, a, b, c: (a, b, c, t.tensor(2.0)),
    "named weights": lambda t, a, b, c: ((a,), {"tensors1": b, "weights": c}),
    "weight of tensors": lambda t, a, b, c: ((a,), {"tensors1": b, "weight": c}),
    "weight in a tensor": lambda t, a, b, c: (a, b, t.tensor(0.5)),
    "src": lambda t, a, b, c: ((a,), {"src": b}),
    "another type": lambda t, a, b, c: (a, [x.double() for x in b]),
    "ord and dtype": lambda t, a, b, c: ((a,), {"ord": 3, "dtype": t.float64}),
    "infinite": lambda t, a, b, c: (a, float("inf")),
    "true": lambda t, a, b, c: (a, True),
    "complex": lambda t, a, b, c: (a, 2j),
    "an empty tensor": lambda t, a, b, c: ([t.ones(0)],),
    "an empty tensor, infinite": lambda t, a, b, c: ([t.ones(0)], float("inf")),
    "an element that is no tensor": lambda t, a, b, c: ([a[0], 1],),
    "nothing": lambda t, a, b, c: ((), {}),
    "named weight": lambda t, a, b, c: ((a,), {"tensors1": b, "weight": 0.5}),
}


def outcome(library, name, form, dtype):
    a, b, c = (lists(library, dtype, seed) for seed in range(3))
    given = FORMS[form](library, a, b, c)
    args, kwargs = given if isinstance(given[-1], dict) else (given, {})
    try:
        made = getattr(library, name)(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0].split(" - got")[0]
    return type(made).__name__, [(str(x.dtype).split('.')[1], x.tolist()) for x in made], [x.tolist() for x in a]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "_foreach_mm"])
def test_every_form(name, dtype):
    for form in FORMS:
        ours, theirs = outcome(claygrad, name, form, dtype), outcome(torch, name, form, dtype)
        assert (ours[0], len(ours)) == (theirs[0], len(theirs)), (form, ours, theirs)
        if len(theirs) == 2:
            continue
        for one, other in zip(ours[1], theirs[1], strict=True):
            assert one[0] == other[0], (form, one, other)
            torch.testing.assert_close(torch.tensor(one[1]), torch.tensor(other[1]), rtol=1e-5, atol=1e-6,
                                       equal_nan=True)
        torch.testing.assert_close([torch.tensor(x) for x in ours[2]], [torch.tensor(x) for x in theirs[2]],
                                   rtol=1e-5, atol=1e-6, equal_nan=True)


MATRICES = {
    "lists": lambda t: ([t.ones(2, 3), t.eye(2)], [t.ones(3, 1), t.ones(2, 2)]),
    "no list": lambda t: ([t.eye(2)], t.eye(2)),
    "shapes": lambda t: ([t.ones(2, 2)], [t.ones(3, 2)]),
    "lengths": lambda t: ([t.eye(2)], [t.eye(2), t.eye(2)]),
    "none": lambda t: ([], []),
}


@pytest.mark.parametrize("case", MATRICES)
def test_products(case):
    def made(library):
        try:
            return [x.tolist() for x in library._foreach_mm(*MATRICES[case](library))]
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    assert made(claygrad) == made(torch)


# PyTorch's backward of this form in place ends the process now and then. The derivative is that of the form that is not in place.
CRASHES_IN_PYTORCH = {"_foreach_pow_"}
DIFFERENTIABLE = [name for name in NAMES if name not in ("_foreach_mm", "_foreach_powsum", "_foreach_copy_")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_every_form(name):
    def grads(library, form, name=name):
        leaves = [[library.tensor(x.tolist(), dtype=library.float64, requires_grad=True)
                   for x in lists(torch, "float64", seed)] for seed in range(3)]
        leaves[1][0] = leaves[0][0].detach().clone().requires_grad_()        # equal elements share a gradient
        given = FORMS[form](library, *([x * 1 for x in one] for one in leaves))
        args, kwargs = given if isinstance(given[-1], dict) else (given, {})
        try:
            made = getattr(library, name)(*args, **kwargs)
        except Exception as error:
            return type(error).__name__
        if not any(x.requires_grad for x in made):
            return "constant"
        if library is torch and name in CRASHES_IN_PYTORCH:
            return grads(library, form, name.removesuffix("_"))
        total = sum((x.abs() * x.abs()).sum() for x in made)
        try:
            total.backward()
        except (RuntimeError, IndexError):
            assert library is torch, form
            return None                                                      # there it has no derivative
        return [None if x.grad is None else torch.tensor(x.grad.tolist()) for one in leaves for x in one]
    compared = 0
    for form in FORMS:
        ours, theirs = grads(claygrad, form), grads(torch, form)
        if isinstance(theirs, str):
            assert ours == theirs, form
        elif theirs is not None:
            compared += 1
            for one, other in zip(ours, theirs, strict=True):      # a zero gradient may be left out
                one, other = (torch.zeros(()) if x is None else x for x in (one, other))
                torch.testing.assert_close(*torch.broadcast_tensors(one, other), rtol=1e-5, atol=1e-6,
                                           equal_nan=True, msg=lambda text, form=form: f"{form}: {text}")
    assert compared or name == "_foreach_addcdiv"          # whose derivative fails in PyTorch


def test_gradients():
    def grads(library):
        a = [library.tensor([0.5, 0.25], requires_grad=True), library.tensor(0.75, requires_grad=True)]
        out = library._foreach_addcmul(library._foreach_exp(a), a, library._foreach_sqrt(a), 2.0)
        sum(x.sum() for x in out).backward()
        return [x.grad.tolist() for x in a]
    torch.testing.assert_close(*([torch.tensor(x) for x in grads(t)] for t in (claygrad, torch)))
