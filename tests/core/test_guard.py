"""Note [The guard]: native forms name their arguments as the declarations do, and few check them by hand."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import claygrad
from claygrad.core import Op
from claygrad.core.dispatch import reference_only
from claygrad.core.dispatch.guard import is_guarded
from claygrad.ops._registry import REGISTRY
from tests.ops.cases import declared, difference, only_in_place, ours, samples
from tests.ops.factory import Build

NATIVE = Path(__file__).parents[2] / "claygrad" / "native"
TEXTS = {path.stem: path.read_text() for path in sorted(NATIVE.glob("*.pyx"))}
OFFER = re.compile(r'^offer\("([\w.]+)",\s*<form_t>(\w+),(.*?)\)(?:\.\w+ = .*)?$', re.MULTILINE | re.DOTALL)
SLOTS = re.compile(r'^offer_(composite_)?slots\("([\w.]+)", (?:<\w+>)?(\w+)\)', re.MULTILINE)
AS_THEY_COME = {"zero", "swap"}          # forms that look at no argument


def members(text: str, struct: str, kind: str) -> list[str]:
    found = re.search(rf"^cdef struct {struct}:\n    {kind} (.*(?:\n        .*)*)", text, re.MULTILINE)
    assert found, f"no struct {struct} of {kind}"
    return [name.strip().rstrip("_") for name in found[1].removeprefix("target, ").split(",")]


def struct_of(text: str, function: str, rest: str) -> str:
    struct = re.search(rf"^cdef \w+ {function}\(Op op, (\w+)\* \w+{rest}\)", text, re.MULTILINE)
    assert struct, f"{function} does not name its arguments"
    return struct[1]


def taken() -> dict[tuple[bool, str], list[str]]:
    """Native forms, whether of a composite and by name, with the names of their arguments."""
    out = {}
    for text in TEXTS.values():
        for name, function, takes in OFFER.findall(text):
            struct = struct_of(text, function, "")
            if struct != "Arg":                      # found by position when the operation is installed
                out[takes.endswith(", True"), name] = members(text, struct, "Arg")
        for composite, name, function in SLOTS.findall(text):
            if name not in AS_THEY_COME:
                struct = struct_of(text, function, "" if composite else ", Layout target")
                out[bool(composite), name] = members(text, struct, "Slot")
    return out


def asked() -> dict[tuple[bool, str], list[Op]]:
    """Operations by the same."""
    out: dict[tuple[bool, str], list[Op]] = {}
    for said in REGISTRY.values():
        op = said.op
        if isinstance(op, Op):
            for word in ("kernel", "geometry", "native"):
                if op.info.get(word):
                    of_tensors = word == "native" or said.kind == "multi_view"
                    out.setdefault((of_tensors, op.info[word]), []).append(op)
    return out


def test_arguments_have_the_names_of_the_parameters():
    ops = asked()
    for name, names in taken().items():
        for op in ops[name]:
            params = [param.rstrip("_") for param in op.params]
            assert params[:len(names)] == names[:len(params)], f"{name[1]} of {op.name}"


# What is not guarded, and why: the end of Note [The guard]. Forms leave these lists, none comes in.
UNGUARDED = {
    "assign": "zero copy clone fill joined",
    "composites": "matmul linear extreme median softmax log_softmax moments norm vecdot fourier",
    "einsum": "tensordot inner kron",
    "elementwise_params": "cast",
    "factory_like": "zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full new_empty_strided",
    "matmul": "mm bmm mv dot vdot",
    "reduce": "both",
    "split": "movedim reshape equal swap contiguous cpu",
    "view": "t transpose unsqueeze view permute squeeze expand select slice narrow diagonal as_strided unfold split_evenly split_with_sizes unbind",
}
BY_HAND = {
    r"slots\[": {"elementwise": 5, "elementwise_params": 7, "elementwise_strided": 8, "getitem": 10, "random": 5, "reduce": 5},
    r"dtype\.code (!=|not in)|dtype is not|isinstance\(<object>\w+(\[\d+\])?, Tensor\)": {
        "assign": 3, "attention": 1, "clip_grad": 2, "einsum": 3, "elementwise": 1, "elementwise_params": 4, "elementwise_strided": 7, "factory": 1,
        "factory_like": 1, "fft": 2, "getitem": 1, "index_put": 5, "mask": 5, "matmul": 8, "optim": 3, "random": 1, "rearrange": 1, "scatter": 1,
        "search": 1, "split": 2, "view": 1},
    r"storage\.where|where\.kind": {"random": 4},
}


def test_no_form_more_is_left_unguarded():
    found = {module: " ".join(name for _, name, _ in SLOTS.findall(text)) for module, text in TEXTS.items()}
    assert {module: names for module, names in found.items() if names} == UNGUARDED, "say what is taken by offer() instead"


@pytest.mark.parametrize("what", BY_HAND)
def test_what_is_checked_by_hand_becomes_less(what):
    count = {module: len(re.findall(what, text)) for module, text in TEXTS.items()}
    assert {module: n for module, n in count.items() if n} == BY_HAND[what], "more: say what is taken by offer() instead; fewer: write that down here"


# --- one argument at a time is another ----------------------------------------------------------------------------------------
# Vectors of what is empty, indices into what is not sorted, memory that is not filled.
UNDETERMINED = {"svd", "searchsorted", "bucketize", "empty_like", "new_empty", "new_empty_strided"}
NAMED = {id(op) for form in taken() for op in asked()[form]}         # tables of kernels are left out
OFFERED = {key: said for key, said in declared().items() if isinstance(said.op, Op) and (is_guarded(said.op) or id(said.op) in NAMED)}


def others(value: Any) -> list[Any]:
    """What may stand in an argument's place."""
    rest = [None, True, 0, -1, 3, 2**40, 1.5, "none", "nonsense", (), (1,), [2, 2], (1,) * 9, (2**40, 1), (-1, -1)]
    if not isinstance(value, claygrad.Tensor):
        return rest
    x = value.detach()
    kinds = [x.to(kind) for kind in (claygrad.int64, claygrad.float64, claygrad.bfloat16, claygrad.bool, claygrad.complex64)]
    shaped = [x[..., :0], x.mT if x.dim() > 1 else x, claygrad.cat([x, x.cos().to(x.dtype)]), x.flip(0)] if x.dim() else [x[None][:0]]
    return [None, 1.5, *kinds, *shaped, x[None], x.reshape(-1), x.reshape(-1)[:1].sum(), x.expand(2, *x.shape),
            x[..., None].expand(*x.shape, 2)[..., 0]]


def result(said: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):
            return [ours(claygrad, said)(*[claygrad.clone(x) if isinstance(x, claygrad.Tensor) and i == 0 and only_in_place(said) else x
                                           for i, x in enumerate(args)], **kwargs)]
    except Exception as error:
        return error


@pytest.mark.parametrize("key", OFFERED)
def test_other_arguments_give_what_the_reference_gives(key):
    """Or, of operations that nobody else calls, no crash."""
    said, how = OFFERED[key], Build(claygrad, "float32", False, "contiguous")
    problems = []
    for call in samples(key, said)[:4]:
        args, kwargs = call.build(how)
        for i, value in enumerate(args):
            for other in others(value):
                given = [*args[:i], other, *args[i + 1:]]
                native = result(said, given, kwargs)
                if (not said.public and not said.method) or key in UNDETERMINED:
                    continue
                with reference_only():
                    reference = result(said, given, kwargs)
                if isinstance(native, list) and isinstance(native[0], claygrad.Tensor) and native[0].numel() > 2**30:
                    found = None if isinstance(reference, list) and native[0].stride() == reference[0].stride() else f"{reference!r}"
                elif isinstance(native, Exception) and isinstance(reference, Exception):
                    found = None if type(native) is type(reference) else f"{native!r} and {reference!r}"
                else:
                    found = difference(native, reference, 20)
                if found:
                    problems.append(f"  {call}, argument {i} as {other!r}: {found}")
    if problems:
        pytest.fail(f"{len(problems)}:\n" + "\n".join(problems[:6]), pytrace=False)
