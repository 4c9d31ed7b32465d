"""What is tried on an entry of the database, each as a function that yields the differences it finds."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, SampleInput, UnaryUfuncInfo

import claygrad
from tests.oracle.onednn import without_onednn
from tests.oracle.opdb import compare, translate
from tests.oracle.opdb.database import entries, ours, tolerance

DTYPES = {str(d).rpartition(".")[2]: d for d in (
    torch.float32, torch.float64, torch.complex128, torch.int64, torch.bool, torch.bfloat16, torch.float16)}
SMOOTH = ("float32", "float64", "complex128")
# Where `dim` stands among the arguments of what returns values with indices, and any index of a value is right.
TIES = {"topk": 1, "kthvalue": 1, "mode": 0, "sort": 0, "argsort": 0}
# Where rounding decides (a softmax of scores in the hundreds), either library may be luckier, by the order in which loops add.
LUCK = {"nn.functional.multi_head_attention_forward": 4}
# Memory nobody has written yet has no value to compare.
UNINITIALISED = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}


def run(function: Callable, lib: Any, sample: SampleInput) -> Any:
    """The result of a call, or the exception it raised. The random stream starts afresh."""
    lib.manual_seed(0)
    try:
        with warnings.catch_warnings(), without_onednn():
            warnings.simplefilter("ignore")
            return function(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        return error


def translated(sample: SampleInput) -> SampleInput:
    memory: dict = {}
    made = SampleInput(translate.arguments(sample.input, memory), args=translate.arguments(sample.args, memory),
                       kwargs=translate.arguments(sample.kwargs, memory))
    made.output_process_fn_grad = translate.function(sample.output_process_fn_grad)
    made.broadcasts_input = sample.broadcasts_input
    return made


def samples(name: str, dtype: str, *, grad: bool = False, limit: int | None = None) -> list[SampleInput]:
    """PyTorch's own samples, drawn from a fixed seed."""
    torch.manual_seed(0)
    found = entries()[name].sample_inputs("cpu", DTYPES[dtype], requires_grad=grad)
    return list(itertools.islice(found, limit))


def supports(name: str, dtype: str) -> bool:
    return DTYPES[dtype] in entries()[name].supported_dtypes("cpu")


def _same(name: str, mine: Any, other: Any, said: Any) -> str | None:
    if isinstance(other, Exception):
        return compare.refusals(mine if isinstance(mine, Exception) else None, other)
    if isinstance(mine, Exception):
        return f"{type(mine).__name__}: {mine}"
    if name in UNINITIALISED:
        other, mine = [(t.dtype, t.shape) for t in (other, mine)]
        return None if str(mine).replace("claygrad", "torch") == str(other) else f"{mine}, torch {other}"
    allowed = tolerance(entries()[name])
    if entries()[name].name in TIES:
        mine, other = (_chosen(entries()[name].name, given, result) for given, result in zip(said, (mine, other)))
    found = compare.values(mine, other, allowed)
    if found and _has_process(said[1]):        # what is free by sign or order is judged by what is not
        try:
            found = compare.values(said[0].output_process_fn_grad(mine), said[1].output_process_fn_grad(other), allowed)
        except Exception as error:
            found = f"{found} (then {type(error).__name__}: {error})"
    return found


def _chosen(name: str, sample: SampleInput, result: Any) -> Any:
    """Values, and the elements that the indices name: among equals any may be meant."""
    at = TIES[name]
    dim = sample.kwargs.get("dim", sample.args[at] if len(sample.args) > at else -1)
    values, indices = result if isinstance(result, tuple) else (sample.input, result)
    if sample.input.ndim == 0 or values.ndim == 0:
        return values, sample.input.reshape(-1)[indices.reshape(-1)], indices.dtype.itemsize, tuple(indices.shape)
    deep = indices if indices.ndim == sample.input.ndim else indices.unsqueeze(dim)
    return values, sample.input.gather(dim, deep), indices.dtype.itemsize, tuple(indices.shape)


def _has_process(sample: SampleInput) -> bool:
    return sample.output_process_fn_grad.__qualname__ != "SampleInput.__init__.<locals>.<lambda>"


def forward(name: str, dtype: str, limit: int | None = None) -> Iterator[str]:
    """Values, dtypes and shapes of every sample."""
    for sample in samples(name, dtype, limit=limit):
        found = _judged(name, dtype, sample)
        if found:
            yield f"{show(sample)}: {found}"


def _judged(name: str, dtype: str, sample: SampleInput) -> str | None:
    """How a call differs; what is about as near to the number in double precision as PyTorch's, or nearer, does not."""
    mine, exact = translated(sample), sample.transform(_doubled)
    got, theirs = run(ours(name), claygrad, mine), run(entries()[name].op, torch, sample)
    found = _same(name, got, theirs, (mine, sample))
    if found and dtype in ("float16", "bfloat16", "float32") and not isinstance(theirs, Exception):
        return None if compare.nearer(got, theirs, run(entries()[name].op, torch, exact), LUCK.get(name, 1)) else found
    return found


def _doubled(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def layouts(name: str, dtype: str, limit: int | None = None) -> Iterator[str]:
    """The same samples with gaps in memory, and transposed."""
    for sample in samples(name, dtype, limit=limit):
        for form in (lambda s: s.noncontiguous(), lambda s: s.transform(_transposed)):
            try:
                other = form(sample)
            except Exception:        # not every sample can be laid out anew: strings, generators
                continue
            found = _judged(name, dtype, other)
            if found:
                yield f"{show(other)} laid out otherwise: {found}"


def _transposed(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.ndim > 1:
        last = value.detach().transpose(0, -1).contiguous().transpose(0, -1)
        return last.requires_grad_(value.requires_grad)
    return value


def edges(name: str, dtype: str, limit: int | None = 6) -> Iterator[str]:
    """Empty and 0-dim forms of the samples: the same result, or a refusal of the same type."""
    for sample in samples(name, dtype, limit=limit):
        for what, form in (("empty", _emptied), ("0-dim", _pointed)):
            other = sample.transform(form)
            mine = translated(other)
            theirs, got = run(entries()[name].op, torch, other), run(ours(name), claygrad, mine)
            if "MKL FFT error" in str(theirs):        # no answer of PyTorch's: a library of its gave up
                continue
            if isinstance(theirs, Exception):
                found = None if isinstance(got, Exception) and type(got) is type(theirs) else compare.refusals(
                    got if isinstance(got, Exception) else None, theirs)
            else:
                found = _same(name, got, theirs, (mine, other))
            if found:
                yield f"{show(other)} {what}: {found}"


def _emptied(value: Any) -> Any:
    return value[:0] if isinstance(value, torch.Tensor) and value.ndim else value


def _pointed(value: Any) -> Any:
    return value.detach().reshape(-1)[0].clone() if isinstance(value, torch.Tensor) and value.numel() else value


PLAIN = (UnaryUfuncInfo, BinaryUfuncInfo, ReductionOpInfo)
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 1e-30, -1e30, 3e38, 1e-45)


def special(name: str, dtype: str, limit: int | None = 4) -> Iterator[str]:
    """NaN, infinities, signed zeros and extremes in the input of what works element by element or reduces."""
    if not isinstance(entries()[name], PLAIN):
        return
    for sample in samples(name, dtype, limit=limit):
        other = sample.transform(_extreme)
        found = _judged(name, dtype, other)
        if found:
            yield f"{show(other)} at special values: {found}"


def _extreme(value: Any) -> Any:
    if not (isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.numel()):
        return value
    turn = value.numel() % 7          # operands of one shape are not to meet the same values at every place
    row = torch.tensor(SPECIAL[turn:] + SPECIAL[:turn]).to(value.dtype)
    return row.repeat(value.numel() // len(SPECIAL) + 1)[:value.numel()].reshape(value.shape)


def _wanting(sample: SampleInput) -> list[Any]:
    return [t for t in compare.tensors([sample.input, sample.args, sample.kwargs]) if t.requires_grad]


def gradients(name: str, dtype: str, limit: int | None = None, second: bool = True) -> Iterator[str]:
    """First and second derivatives of every sample, in directions drawn at random."""
    op = entries()[name]
    if not op.supports_autograd or DTYPES[dtype] not in op.supported_backward_dtypes("cpu"):
        return
    for sample in samples(name, dtype, grad=True, limit=limit):
        mine = translated(sample)
        theirs = _derivatives(torch, op.op, sample, second and op.supports_gradgrad, None)
        got = _derivatives(claygrad, ours(name), mine, second and op.supports_gradgrad, theirs)
        for order, (a, b) in enumerate(zip(got, theirs)):
            if isinstance(b, Exception) and order and not isinstance(a, Exception):
                break                              # a second derivative that PyTorch lacks is no measure
            if isinstance(b, Exception):
                found = compare.refusals(a if isinstance(a, Exception) else None, b)
            elif isinstance(a, Exception):
                found = f"{type(a).__name__}: {a}"
            else:
                pairs = list(map(_paired, a[0], b[0]))
                found = compare.values([x for x, _ in pairs], [y for _, y in pairs], tolerance(op, 10))
            if found:
                yield f"{show(sample)}: {('first', 'second')[order]} derivative: {found}"
                break


def _paired(mine: Any, theirs: Any) -> tuple[Any, Any]:
    """Two gradients to compare. None says as much as zeros."""
    given = mine if theirs is None else theirs
    if (mine is None or theirs is None) and (given is None or not bool((given != 0).any())):
        return "none", "none"
    return "none" if mine is None else mine, "none" if theirs is None else theirs


def _derivatives(lib: Any, function: Callable, sample: SampleInput, second: bool, theirs: Any) -> list[Any]:
    """[(first derivatives, directions), (second ..)], or an exception in the place of what failed."""
    lib.manual_seed(0)
    found: list[Any] = []
    try:
        with warnings.catch_warnings(), without_onednn():
            warnings.simplefilter("ignore")
            result = sample.output_process_fn_grad(function(sample.input, *sample.args, **sample.kwargs))
            outputs = [t for t in compare.tensors(result) if compare.is_float(t) and t.requires_grad]
            inputs = _wanting(sample)
            if not outputs or not inputs:
                return [([], [])]
            for order in range(2 if second else 1):
                if theirs is None:
                    along = compare.cotangents(outputs, order)
                elif isinstance(theirs[order], Exception):
                    along = [lib.ones_like(t) for t in outputs]
                else:
                    along = [translate.tensor(t) for t in theirs[order][1]]
                grads = lib.autograd.grad(outputs, inputs, along, allow_unused=True, create_graph=order == 0 and second,
                                          retain_graph=True)
                found.append((list(grads), along))
                outputs = [g for g in grads if g is not None and g.requires_grad]
                if not outputs:
                    break
    except Exception as error:
        found.append(error)
    return found


def variants(name: str, dtype: str, limit: int | None = None) -> Iterator[str]:
    """The method and the in-place form against PyTorch's."""
    op = entries()[name]
    for form, theirs in (("method", op.method_variant), ("in-place", op.inplace_variant)):
        mine = _variant(theirs)
        if theirs is None:
            continue
        if mine is None:
            yield f"no {form} form"
            continue
        for sample in samples(name, dtype, limit=limit):
            if not isinstance(sample.input, torch.Tensor) or (form == "in-place" and sample.broadcasts_input):
                continue
            ready = translated(sample)
            found = _same(name, run(mine, claygrad, ready), run(theirs, torch, sample), (ready, sample))
            if found:
                yield f"{show(sample)}: {form}: {found}"


def _variant(theirs: Callable | None) -> Callable | None:
    if theirs is None:
        return None
    if isinstance(theirs, functools.partial):
        return functools.partial(translate.function(theirs.func), *theirs.args, **theirs.keywords)
    if getattr(theirs, "__module__", None) and theirs.__module__.startswith("torch.testing"):
        return translate.function(theirs)
    return getattr(claygrad.Tensor, theirs.__name__, None)


def errors(name: str) -> Iterator[str]:
    """PyTorch's own wrong inputs: the same exception with the same first line."""
    op = entries()[name]
    if op.error_inputs_func is None:
        return
    torch.manual_seed(0)
    wrong = [error.sample_input for error in op.error_inputs("cpu")]
    for sample, ready in [(sample, _ready(sample)) for sample in wrong]:   # all before any: a failed call may have resized
        if ready is None:
            continue
        theirs = run(op.op, torch, sample)
        if not isinstance(theirs, Exception):
            continue
        mine = run(ours(name), claygrad, ready)
        found = compare.refusals(mine if isinstance(mine, Exception) else None, theirs)
        if found:
            yield f"{show(sample)}: {found}"


def _ready(sample: SampleInput) -> SampleInput | None:
    try:
        return translated(sample)
    except NotImplementedError:            # a dtype claygrad does not have
        return None
    except RuntimeError as error:
        if "dimensions are not supported" in str(error):      # nor can PyTorch's 65 be made
            return None
        raise


CHECKS: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "forward": (forward, tuple(DTYPES)),
    "gradients": (gradients, SMOOTH),
    "variants": (variants, ("float64", "complex128", "int64", "bool")),
    "layouts": (layouts, ("float64", "complex128", "int64")),
    "edges": (edges, ("float64", "int64")),
    "special": (special, ("float64", "float32", "bfloat16")),
}


def _summary(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        text = f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
        return text if value.numel() > 4 or value.requires_grad or value.is_meta else f"{text}={value.tolist()}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_summary, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)


def show(sample: SampleInput) -> str:
    parts = [_summary(sample.input), *map(_summary, sample.args)]
    return f"({', '.join(parts + [f'{k}={_summary(v)}' for k, v in sample.kwargs.items()])})"
