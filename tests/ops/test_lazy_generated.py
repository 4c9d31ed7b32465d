"""Every declared operation with conjugates and negatives that are views in place of its tensors: the same results and gradients."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import pytest

from tests.ops.cases import declared, flat, is_property, is_tensor, only_in_place, ours, same_values, samples, show
from tests.ops.factory import Build, Call

import claygrad  # isort: skip

SAID = declared()
# What tells of the memory itself, or hands it out.
OF_MEMORY = {"is_conj", "is_neg", "view_as_real", "view", "is_set_to"}
KEYS = [key for key, said in SAID.items() if said.name not in OF_MEMORY]


@cache
def _samples(key: str) -> list[Call]:
    return samples(key, SAID[key])


def lazy(t: Any, both: bool) -> Any:
    """A view with the values of t, on memory that holds their conjugates or negatives."""
    if t.dtype == claygrad.bool or not t.dtype.is_signed:
        return t
    if t.dtype.is_complex and not both:
        return t.detach().conj_physical().requires_grad_(t.requires_grad).conj()
    if t.dtype.is_complex:
        return t.detach().conj_physical().neg().requires_grad_(t.requires_grad).conj()._neg_view()
    return t.detach().neg().requires_grad_(t.requires_grad)._neg_view()


def changed(value: Any, how: Any) -> Any:
    if is_tensor(value):
        return how(value)
    if isinstance(value, dict):
        return {name: changed(x, how) for name, x in value.items()}
    return type(value)(changed(x, how) for x in value) if type(value) in (list, tuple) else value


def run(said: Any, args: list, kwargs: dict) -> Any:
    """What the operation makes, and the gradients of its floating arguments."""
    claygrad.manual_seed(0)
    inputs = [t for t in flat([*args, *kwargs.values()]) if is_tensor(t) and t.requires_grad]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = ours(claygrad, said, raw=True)(*args, **kwargs)
            outs = [t for t in flat(made) if is_tensor(t) and t.requires_grad]
            weights = [claygrad.linspace(0.5, 1.5, t.numel(), dtype=claygrad.float64).reshape(t.shape).to(t.dtype) for t in outs]
            grads = claygrad.autograd.grad(outs, inputs, weights, allow_unused=True) if outs and inputs else ()
    except Exception as error:
        return error
    return [made, grads]


def differences(one: Any, other: Any) -> list[str]:
    if isinstance(one, Exception) or isinstance(other, Exception):
        return [] if type(one) is type(other) else [f"{one!r}, lazy: {other!r}"]
    found = []
    for a, b in zip(flat(one), flat(other), strict=True):
        if is_tensor(a) and is_tensor(b):
            if a.dtype != b.dtype or not same_values(a, b):
                found.append(f"{show(a)}, lazy: {show(b)}")
        elif is_tensor(a) != is_tensor(b) or (isinstance(a, int | float | complex | str) and a == a and a != b):
            found.append(f"{a}, lazy: {b}")
    return found


@pytest.mark.parametrize("dtype", ["complex128", "float64"])
@pytest.mark.parametrize("key", KEYS)
def test_lazy_arguments(key: str, dtype: str):
    said, problems = SAID[key], []
    for call in _samples(key):
        for both in (False, True) if dtype == "complex128" else (False,):
            try:
                plain, view = ((list(a), dict(k)) for a, k in (call.build(Build(claygrad, dtype, grad=True)) for _ in range(2)))
            except RuntimeError:                 # a sample of sorted numbers, which complex ones are not
                continue
            view = changed(view[0], lambda t, both=both: lazy(t, both)), changed(view[1], lambda t, both=both: lazy(t, both))
            if only_in_place(said):
                plain[0][0], view[0][0] = (x[0][0] * 1 for x in (plain, view))
            problems += [f"  {call}: {text}" for text in differences(run(said, *plain), run(said, *view))]
    assert not problems, "\n".join(problems)


IN_PLACE = [key for key in KEYS if SAID[key].inplace and not is_property(SAID[key])]


@pytest.mark.parametrize("dtype", ["complex128", "float64"])
@pytest.mark.parametrize("key", IN_PLACE)
def test_lazy_tensors_written_in_place(key: str, dtype: str):
    """The view, and the base through it; with gradients."""
    said, problems = SAID[key], []
    method = getattr(claygrad.Tensor, said.name + "_", None)
    if method is None:
        return
    for call in _samples(key):
        found = []
        for as_view in (False, True):
            args, kwargs = call.build(Build(claygrad, dtype, grad=True))
            args = list(args)
            if not args or not is_tensor(args[0]) or not args[0].dtype.is_signed or args[0].dtype == claygrad.bool:
                break
            leaf = args[0]
            base = leaf * 1
            if as_view:
                base = base.conj_physical() if base.is_complex() else base.neg()
            written = base if not as_view else base.conj() if base.is_complex() else base._neg_view()
            claygrad.manual_seed(0)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    out = method(written, *args[1:], **kwargs)
                    seen = (base if not as_view else base.conj_physical() if base.is_complex() else base.neg())
                    grads = ()
                    if seen.requires_grad:
                        weights = claygrad.linspace(0.5, 1.5, seen.numel(), dtype=claygrad.float64).reshape(seen.shape)
                        grads = claygrad.autograd.grad(seen, leaf, weights.to(seen.dtype), allow_unused=True)
                found.append([out, seen, grads])
            except Exception as error:
                found.append(error)
        if len(found) == 2:
            problems += [f"  {call}: {text}" for text in differences(*found)]
    assert not problems, "\n".join(problems)


def test_a_complex_view_may_start_between_two_numbers_of_its_base():
    """Its memory in a copy of the base is not that of whole complex numbers: the copy is shifted. (PyTorch 2.13 is wrong here.)"""
    x = claygrad.arange(8.0, dtype=claygrad.float64, requires_grad=True)
    base = claygrad.empty(9, dtype=claygrad.float64)[1:].detach()
    base.copy_(x)
    claygrad.view_as_complex(base[1:7].view(3, 2)).mul_(2j)
    (base * claygrad.arange(8.0)).sum().backward()
    assert x.grad.tolist() == [0, 4, -2, 8, -6, 12, -10, 7]
