"""Random tensors. The same seed gives the numbers that PyTorch draws on the CPU."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core import Tensor, default_dtype, empty, int64, without_writes
from claygrad.core import dtype as dtype_class
from claygrad.core.op import missing
from claygrad.core.user_warnings import warn
from claygrad.native.random import KINDS, Generator, check_generator, fill, filled, record_draws, sample
from claygrad.ops._drawing import (
    DRAWN,
    OPTION_NAMES,
    OPTIONS,
    OUT,
    Options,
    as_int,
    as_size,
    checked_size,
    empty_like,
    is_float,
    is_int,
    is_maybe,
    is_size,
    needs_no_grad,
    refused,
    wrong,
)
from claygrad.ops._formats import check_format
from claygrad.ops._registry import composite
from claygrad.ops.random_fill import BOUNDS, bernoulli_, exponential_, normal_, range_of, uniform_, unknown, written

if TYPE_CHECKING:
    from collections.abc import Callable

_UNIFORM, _NORMAL, _RANGE, _PERMUTATION = KINDS["uniform"], KINDS["normal"], KINDS["range"], KINDS["permutation"]
_RECORDED = written("random", "NotImplemented", "input")          # for writes into out=, which take no part in a graph


# --- by size --------------------------------------------------------------------------------------------------------
def _by_size(name: str, draw: Callable, args: tuple, named: dict) -> Tensor:
    """rand and randn in all their forms."""
    signature = f"tuple of ints size, *, {DRAWN}{OUT}{OPTIONS}"
    if (named.keys() - OPTION_NAMES - {"size"} or bool(args) is ("size" in named)
            or (len(args) > 1 and isinstance(args[0], (tuple, list)))):
        raise refused(name, args, named, signature)
    options = Options(name, args, named, signature, default_dtype())
    if args and not isinstance(args[0], (tuple, list)):
        if not is_int(args[0]):
            raise wrong(name, "size", 1, "tuple of ints", args[0])
        size = as_size(name, args)
    else:
        size = as_size(name, args[0]) if args else as_size(name, named["size"], None)
    return options.finish(draw(options.target(size), generator=named.get("generator")))


@composite(method=False, raw=True)
def rand(*args: int, **named: object) -> Tensor:
    """Uniform draws from [0, 1) in a tensor of the given size.

    rand(*size, *, generator=None, out=None, dtype=None, layout=strided, device=None, requires_grad=False,
         pin_memory=False)
    """
    out = filled(_UNIFORM, args, named)
    return _by_size("rand", uniform_, args, named) if out is None else out


@composite(method=False, raw=True)
def randn(*args: int, **named: object) -> Tensor:
    """Draws from the standard normal distribution in a tensor of the given size.

    randn(*size, *, generator=None, out=None, dtype=None, layout=strided, device=None, requires_grad=False,
          pin_memory=False)
    """
    out = filled(_NORMAL, args, named)
    return _by_size("randn", normal_, args, named) if out is None else out


_INT_FORMS = (f"int high, tuple of ints size, *, {DRAWN}{OUT}{OPTIONS}",
              f"int low, int high, tuple of ints size, *, {DRAWN}{OUT}{OPTIONS}")


@composite(method=False, raw=True)
def randint(*args: object, **named: object) -> Tensor:
    """Whole numbers drawn evenly from [low, high) in a tensor of the given size, int64 unless a dtype is given.

    randint(low=0, high, size, *, generator=None, out=None, dtype=None, layout=strided, device=None,
            requires_grad=False, pin_memory=False)
    """
    if len(args) == 2 or len(args) == 3:
        low, high, size = args if len(args) == 3 else (0, *args)
        if type(low) is int and type(high) is int and type(size) is tuple and -2**63 <= low < high < 2**63:
            out = filled(_RANGE, size or ((),), named, int64, low, high - low)
            if out is not None:
                return out
    low, high, size, rest = _int_bounds(args, named)
    options = Options("randint", args, rest, _INT_FORMS[1], int64)
    target = options.target(size)
    kind, base, width = range_of(target, low, high)
    return options.finish(fill(_RECORDED, target, kind, rest.get("generator"), base, width))


def _int_bounds(args: tuple, named: dict) -> tuple[int, int, tuple[int, ...], dict]:
    """low, high and size of randint, and the options that are left."""
    whole = len(args) == 3 or "high" in named or (len(args) == 2 and "size" in named)
    names = ("low", "high", "size") if whole else ("high", "size")
    given, rest = dict(zip(names, args)), named
    if len(given) < len(names) or "low" in named:
        rest = {key: value for key, value in named.items() if key not in ("low", "high", "size") or key in given}
        given |= {key: value for key, value in named.items() if key not in rest}
    low, high, size = given.get("low", 0), given.get("high"), given.get("size")
    if not rest.keys() <= OPTION_NAMES or len(args) > len(names) or high is None or size is None:
        raise refused("randint", args, named, *_INT_FORMS)
    if "low" in given and not (is_int(low) and is_int(high) and is_size(size)):
        raise refused("randint", args, named, *_INT_FORMS)
    if not is_int(high):
        raise wrong("randint", "high", 1 if args else None, "int", high)
    return as_int(low), as_int(high), as_size("randint", size, 2 if len(args) > 1 else None), rest


@composite(method=False, raw=True)
def randperm(n: int, **named: object) -> Tensor:
    """The numbers from 0 to n - 1 in random order.

    randperm(n, *, generator=None, out=None, dtype=int64, layout=strided, device=None, requires_grad=False,
             pin_memory=False)
    """
    asked = named.get("dtype")
    if isinstance(asked, dtype_class) and asked.is_floating_point and is_int(n):
        _check_permutation(as_int(n), asked)
    out = filled(_PERMUTATION, (n,), named, int64)
    if out is not None:
        return out
    signature = f"int n, *, {DRAWN}{OUT}{OPTIONS}"
    if named.keys() - OPTION_NAMES:
        raise refused("randperm", (n,), named, signature)
    options = Options("randperm", (n,), named, signature, int64)
    if not is_int(n):
        raise wrong("randperm", "n", 1, "int", n)
    count = as_int(n)
    target = options.target(checked_size([count]))
    if not target.is_meta:
        _check_permutation(count, target.dtype)
    return options.finish(fill(_RECORDED, target, _PERMUTATION, named.get("generator")))


_EXACT = {"float16": (2**11, "2049 for Half"), "float32": (2**24, "2^24+1 for Float"),
          "float64": (2**53, "2^53+1 for Double")}


def _check_permutation(n: int, kind: dtype_class) -> None:
    if kind.is_floating_point:
        if kind.name in _EXACT and n > _EXACT[kind.name][0] + 1:
            raise RuntimeError(f"n cannot be greater than {_EXACT[kind.name][1]} type.")
    elif kind.is_complex or kind.name not in BOUNDS or kind.name == "bool":
        raise unknown("randperm", kind)
    elif n - 1 > BOUNDS[kind.name][1]:
        raise RuntimeError(f"value cannot be converted to type {kind.name}_t without overflow")


# --- like another tensor ----------------------------------------------------------------------------------------------
_LIKE = "claygrad.memory_format memory_format = None, "


def _like(name: str, draw: Callable, input: Tensor, named: dict) -> Tensor:
    named = dict(named)
    form = named.pop("memory_format", None)
    check_format(name, form)
    generator = named.get("generator")
    signature = f"Tensor input, *, {DRAWN}{_LIKE}{OPTIONS}"
    if named.keys() - OPTION_NAMES or "out" in named:
        raise refused(name, (input,), named, signature)
    if not isinstance(input, Tensor):
        raise wrong(name, "input", 1, "Tensor", input)
    options = Options(name, (input,), named, signature, input.dtype)
    where = input.device if named.get("device") is None else options.device
    return options.finish(draw(empty_like(input, options.dtype, where, form), generator))


@composite(method=False, raw=True)
def rand_like(input: Tensor, **named: object) -> Tensor:
    "Uniform draws from [0, 1) in a tensor of the input's size, dtype and order in memory."
    out = filled(_UNIFORM, input, named) if isinstance(input, Tensor) else None
    return _like("rand_like", lambda t, g: uniform_(t, generator=g), input, named) if out is None else out


@composite(method=False, raw=True)
def randn_like(input: Tensor, **named: object) -> Tensor:
    "Draws from the standard normal distribution in a tensor of the input's size, dtype and order in memory."
    out = filled(_NORMAL, input, named) if isinstance(input, Tensor) else None
    return _like("randn_like", lambda t, g: normal_(t, generator=g), input, named) if out is None else out


@composite(method=False, raw=True)
def randint_like(input: Tensor, *bounds: int, **named: object) -> Tensor:
    "Whole numbers drawn evenly from [low, high) in a tensor of the input's size, dtype and order in memory."
    rest = dict(named)
    given = dict(zip(("low", "high") if len(bounds) == 2 or "high" in named else ("high",), bounds, strict=False))
    for key in ("low", "high"):
        if key in rest and key not in given:
            given[key] = rest.pop(key)
    if len(bounds) > 2 or "high" not in given or not isinstance(input, Tensor) or not all(map(is_int, given.values())):
        raise refused("randint_like", (input, *bounds), named, f"Tensor input, int high, *, {DRAWN}{_LIKE}{OPTIONS}",
                      f"Tensor input, int low, int high, *, {DRAWN}{_LIKE}{OPTIONS}")

    def draw(target: Tensor, generator: Generator | None) -> Tensor:
        kind, base, width = range_of(target, as_int(given.get("low", 0)), as_int(given["high"]))
        return fill(_RECORDED, target, kind, generator, base, width)
    return _like("randint_like", draw, input, rest)


# --- normal -----------------------------------------------------------------------------------------------------------
_by_mean = written("normal", "NormalBackward1", "mean")
_by_std = written("normal", "NormalBackward2", "std")
_by_both = written("normal", "NormalBackward3", "mean", "std")
_NORMAL_FORMS = (f"Tensor mean, Tensor std, *, {DRAWN}{OUT[:-2]}", f"Tensor mean, float std = 1, *, {DRAWN}{OUT[:-2]}",
                 f"float mean, Tensor std, *, {DRAWN}{OUT[:-2]}",
                 f"float mean, float std, tuple of ints size, *, {DRAWN}{OUT}{OPTIONS}")


_NUMBER = (Tensor, int, float)


@composite(method=False, raw=True)
def normal(mean: Tensor | float, std: Tensor | float = 1.0, size: tuple[int, ...] | None = None, *,
           generator: Generator | None = None, out: Tensor | None = None, **named: object) -> Tensor:
    """Draws from normal distributions, one for each element of the tensors `mean` and `std`, or `size` draws from one.

    normal(mean, std=1.0, *, generator=None, out=None)
    normal(mean, std, size, *, generator=None, out=None, dtype=None, layout=strided, device=None, requires_grad=False,
           pin_memory=False)
    """
    given = (mean, std) if size is None else (mean, std, size)
    numbers = is_float(mean) and is_float(std) and is_size(size)
    tensors = size is None and not named and isinstance(mean, _NUMBER) and isinstance(std, _NUMBER)
    if (named.keys() - OPTION_NAMES or not is_maybe(generator, Generator) or not is_maybe(out, Tensor)
            or not (numbers or (tensors and (isinstance(mean, Tensor) or isinstance(std, Tensor))))):
        raise refused("normal", given, named, *_NORMAL_FORMS)
    if numbers:
        named |= {"generator": generator, "out": out}
        options = Options("normal", given, named, _NORMAL_FORMS[3], default_dtype())
        return options.finish(normal_(options.target(as_size("normal", size, 3)), mean, std, generator=generator))
    if out is not None and any(isinstance(t, Tensor) and t.requires_grad for t in (mean, std, out)):
        raise needs_no_grad("normal")
    return _normal_of(mean, std, generator, out)


def _without_repeats(x: Tensor) -> Tensor:
    """Its elements, those of broadcast axes once: an expanded tensor may be larger than any memory."""
    return x[tuple(slice(0, 1) if step == 0 else slice(None) for step in x.stride())] if x.ndim else x


def _normal_of(mean: Tensor | float, std: Tensor | float, generator: Generator | None, out: Tensor | None) -> Tensor:
    if isinstance(std, Tensor):
        if std.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and not std.is_meta and not _without_repeats(std.detach()).min().item() >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
    kept = [t.detach() if isinstance(t, Tensor) else t for t in (mean, std)]
    shape = kept[0].shape if not isinstance(std, Tensor) else kept[1].shape
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        shape = _common(kept[0].shape, kept[1].shape)
    target = out
    if out is None:
        like = kept[0] if isinstance(mean, Tensor) else kept[1]
        target = empty(shape, like.dtype, like.device)
    elif out.shape != shape:
        if not isinstance(std, Tensor):
            shape = _common(kept[0].shape, out.shape)
        target = _resized(out, shape)
    normal_(target, 0.0, 1.0 if isinstance(std, Tensor) else std, generator=generator)
    if isinstance(std, Tensor):
        target.mul_(kept[1])
    if isinstance(mean, Tensor) or mean:
        target.add_(kept[0])
    if out is None:
        without_writes(target)
    if not isinstance(mean, Tensor):
        return record_draws(_by_std, target, std)
    if not isinstance(std, Tensor):
        return record_draws(_by_mean, target, mean)
    return record_draws(_by_both, target, mean, std)


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to."""
    n = max(len(a), len(b))
    out = []
    for i, (x, y) in enumerate(zip((1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b), strict=True)):
        if x != y and 1 not in (x, y):
            raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton "
                               f"dimension {i}")
        out.append(y if x == 1 else x)
    return tuple(out)


def _resized(out: Tensor, shape: tuple[int, ...]) -> Tensor:
    if out.numel():
        warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which "
             f"does not match the required output shape {list(shape)}. This behavior is deprecated, and in "
             "a future PyTorch release outputs will not be resized unless they have zero elements. You can "
             "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
             UserWarning)
    return out.resize_(shape)


# --- choices ----------------------------------------------------------------------------------------------------------
_bernoulli_each = written("bernoulli", "BernoulliBackward0", "input")
_bernoulli_one = written("bernoulli", "NotImplemented", "input").rule(input=missing)


@composite(raw=True)
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:
    "Ones with the probabilities in the input, or with one probability p, and zeros."
    if not isinstance(input, Tensor):
        raise wrong("bernoulli", "input", 1, "Tensor", input)
    if (not is_maybe(generator, Generator) or not is_maybe(out, Tensor)
            or (p is not None and (out is not None or not is_float(p)))):
        raise refused("bernoulli", (input,) if p is None else (input, p),
                      {key: value for key, value in (("generator", generator), ("out", out)) if value is not None},
                      f"Tensor input, *, {DRAWN}{OUT[:-2]}", f"Tensor input, float p, *, {DRAWN[:-2]}")
    if out is not None:
        if input.requires_grad or out.requires_grad:
            raise needs_no_grad("bernoulli")
        if any(step == 0 and size > 1 for size, step in zip(out.shape, out.stride())):
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a "
                               "single memory location. Please clone() the tensor before performing the operation.")
        return bernoulli_(out.resize_(input.shape), input, generator=generator)
    result = empty(input.shape, input.dtype, input.device)
    if p is None:
        drawn = without_writes(bernoulli_(result, input.detach(), generator=generator))
        return record_draws(_bernoulli_each, drawn, input)
    return record_draws(_bernoulli_one, without_writes(bernoulli_(result, float(p), generator=generator)), input)


_BAD_WEIGHTS = ("", "invalid multinomial distribution (encountering probability entry < 0)",
                "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
                "invalid multinomial distribution (sum of probabilities <= 0)")


@composite(raw=True)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
                out: Tensor | None = None) -> Tensor:
    "Positions drawn with the weights in the input, from each row of a matrix."
    if not isinstance(input, Tensor):
        raise wrong("multinomial", "input", 1, "Tensor", input)
    if not is_int(num_samples):
        raise wrong("multinomial", "num_samples", 2, "int", num_samples)
    if not isinstance(replacement, bool):
        raise wrong("multinomial", "replacement", 3, "bool", replacement)
    weights, count = input.detach(), as_int(num_samples)
    _check_choice(weights, count, replacement, out)
    check_generator(generator, weights.device)
    shape = (count,) if weights.ndim == 1 else (weights.shape[0], count)
    result = empty(shape, int64, weights.device)
    if result.numel() and not result.is_meta:
        _choose(weights, count, replacement, result, generator)
    if out is None:
        return result
    return out.resize_(shape).copy_(result)


def _check_choice(weights: Tensor, count: int, replacement: bool, out: Tensor | None) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not weights.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.legacy}")
    if out is not None and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _choose(weights: Tensor, count: int, replacement: bool, out: Tensor, generator: Generator | None) -> None:
    """Draw into `made`. One sample is always drawn without replacement: its stream differs."""
    if replacement and count > 1:
        problem = sample(weights, count, None, out, generator)
        if problem:
            raise RuntimeError(_BAD_WEIGHTS[problem])
        return
    if not weights.numel():
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    if not (weights.min().item() >= 0 and weights.max().item() < float("inf")):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any().item():
        raise RuntimeError(_BAD_WEIGHTS[3])
    draws = exponential_(empty_like(weights), generator=generator)      # drawn in the order of the weights' memory
    sample(weights, count, draws, out, generator)
