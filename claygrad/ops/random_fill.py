"""Fills: the methods that overwrite a tensor with random numbers, in the order of its memory."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from claygrad.core import Tensor, prefix
from claygrad.core.op import Op, declare, zero
from claygrad.core.user_warnings import warn
from claygrad.native.random import KINDS, Generator, fill
from claygrad.ops._drawing import as_int, is_float, is_int, is_maybe, refused, wrong
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.core import dtype

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
           "float64": 1.7976931348623157e308}
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-2**15, 2**15 - 1), "int32": (-2**31, 2**31 - 1),
          "int64": (-2**63, 2**63 - 1), "bool": (0, 1), "uint16": (0, 2**16 - 1), "uint32": (0, 2**32 - 1),
          "uint64": (0, 2**64 - 1)}


def written(name: str, node: str, *params: str) -> Op:
    """The mark that a random write leaves in the graph: a node through which no gradient passes."""
    def forward(xp: object, *inputs: object) -> None:
        raise RuntimeError(f"{name}: core.random draws, not the mark of the drawing")

    mark = declare(forward, "op", "none", params, dict.fromkeys(params, "Tensor"), (...,) * len(params), len(params),
              name=name, node=node, out=False)
    return mark.rule(**dict.fromkeys(params, zero))


def unknown(kernel: str, dtype: dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.legacy}'")


# Note [Plans]
# A fill is declared by its plan: a function of the target and the fill's numbers that refuses what PyTorch refuses
# and says what to draw, as (kind, a, b) with the kinds of native/random.pyx. The parameters of the method are named
# apart, because one of them is called `from`.

def drawn(node: str, *names: str) -> Callable:
    """Turn a plan into the in-place method of the same name, whose numbers are called `names`."""
    def declare(plan: Callable) -> Callable:
        name, defaults = plan.__name__, plan.__defaults__ or ()
        needed = len(names) - len(defaults)
        mark = written(name, node, "input")

        def method(input: Tensor, *numbers: float, generator: Generator | None = None, **named: float) -> Tensor:
            if named or not needed <= len(numbers) <= len(names):
                numbers = _numbers(name, names, defaults, numbers, named)
            for x in numbers:
                if type(x) is not float and type(x) is not int:
                    numbers = _numbers(name, names, defaults, numbers, named)
                    break
            if generator is not None and not isinstance(generator, Generator):
                raise wrong(name, "generator", None, f"{prefix()}.Generator", generator)
            kind, a, b = plan(input, *numbers)
            return fill(mark, input, kind, generator, a, b)

        functools.update_wrapper(method, plan, assigned=("__name__", "__qualname__", "__doc__"), updated=())
        del method.__wrapped__
        return composite(function=False, raw=True)(method)
    return declare


def _numbers(name: str, names: tuple, defaults: tuple, given: tuple, named: dict) -> Sequence[float]:
    """The numbers of a fill from positional and keyword arguments."""
    if len(given) > len(names):
        needed = len(names) - len(defaults)
        some = f"from {needed} to {len(names)}" if needed < len(names) else f"{needed}"
        raise TypeError(f"{name}() takes {some} positional argument{'s' * (len(names) > 1 or needed < len(names))} but "
                        f"{len(given)} were given")
    out = list(given) + [None] * (len(names) - len(given))
    for key, value in named.items():
        if key not in names:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if names.index(key) < len(given):
            raise TypeError(f"{name}() got multiple values for argument '{key}'")
        out[names.index(key)] = value
    for i, key in enumerate(names):
        if key not in named and i >= len(given):
            if i < len(names) - len(defaults):
                raise _missing(name, names, len(given), len(defaults))
            out[i] = defaults[i - len(names)]
        elif not is_float(out[i]):
            raise wrong(name, key, None if key in named else i + 1, "float", out[i])
    return [float(x) for x in out]


def _missing(name: str, names: tuple, given: int, optional: int) -> TypeError:
    lacking = names[given:len(names) - optional]
    return TypeError(f"{name}() missing {len(lacking)} required positional arguments: "
                     + ", ".join(f'"{x}"' for x in lacking))


def _refuse_bytes(input: Tensor, kernel: str) -> None:
    """Refuse floats of one byte, which nothing draws."""
    if input.dtype.is_floating_point and input.dtype.itemsize == 1 and not input.is_meta:
        raise unknown(kernel, input.dtype)


# --- continuous ---------------------------------------------------------------------------------------------------
@drawn("UniformBackward0", "from", "to")
def uniform_(input: Tensor, start: float = 0.0, end: float = 1.0):
    "Fill with draws from the uniform distribution on [from, to)."
    plan = KINDS["uniform"], start, end
    if input.is_meta or (input.dtype.is_complex and not input.numel()):
        return plan
    kind = input.dtype.to_real()
    if not kind.is_floating_point:
        raise unknown("check_uniform_bounds", kind)
    _refuse_bytes(input, "check_uniform_bounds")
    largest = LARGEST[kind.name]
    for bound, word in ((start, "from"), (end, "to")):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{word} is out of bounds for {kind.c_name}")
    if start > end:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={start:g} > to={end:g}")
    if end - start > largest:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{kind.legacy}>::max(), but found "
                           f"to={end:g} and from={start:g} which result in to-from to exceed the limit")
    return plan


@drawn("NormalBackward0", "mean", "std")
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0):
    "Fill with draws from the normal distribution; a complex tensor shares the variance between its parts."
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if input.dtype.is_complex:
        std /= 2**0.5
    elif not input.dtype.is_floating_point and input.numel():
        if input.is_meta:
            raise RuntimeError(f"expected a floating-point or complex dtype, but got dtype={input.dtype}")
        raise unknown("normal_kernel_cpu", input.dtype)
    return KINDS["normal"], mean, std


@drawn("LogNormalBackward0", "mean", "std")
def log_normal_(input: Tensor, mean: float = 1.0, std: float = 2.0):
    "Fill with draws whose logarithm is normal with this mean and deviation."
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not input.dtype.is_floating_point and input.numel() and not input.is_meta:
        raise unknown("log_normal_cpu", input.dtype)
    _refuse_bytes(input, "log_normal_cpu")
    return KINDS["log_normal"], mean, std


@drawn("ExponentialBackward0", "lambd")
def exponential_(input: Tensor, lambd: float = 1.0):
    "Fill with draws from the exponential distribution of a rate."
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if not input.dtype.is_floating_point and input.numel() and not input.is_meta:
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {input.dtype.legacy}")
    _refuse_bytes(input, "exponential_cpu")
    return KINDS["exponential"], lambd, 0


@drawn("CauchyBackward0", "median", "sigma")
def cauchy_(input: Tensor, median: float = 0.0, sigma: float = 1.0):
    "Fill with draws from the Cauchy distribution."
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not input.dtype.is_floating_point and not input.is_meta:
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                           f"point but you specified {input.dtype.c_name}")
    _refuse_bytes(input, "cauchy_cpu")
    return KINDS["cauchy"], median, sigma


# --- discrete -----------------------------------------------------------------------------------------------------
@drawn("GeometricBackward0", "p")
def geometric_(input: Tensor, p: float):
    "Fill with the number of trials up to the first success of probability p."
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if (input.dtype.is_complex or input.dtype.name == "bool") and input.numel() and not input.is_meta:
        raise unknown("geometric_cpu", input.dtype)
    _refuse_bytes(input, "geometric_cpu")
    return KINDS["geometric"], p, 0


_bernoulli_by_number = written("bernoulli_", "BernoulliBackward2", "input")
_bernoulli_by_tensor = written("bernoulli_", "BernoulliBackward1", "input", "p")


@composite(function=False, raw=True)
def bernoulli_(input: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    "Fill with ones of probability p, a number or a tensor of probabilities that broadcasts, and zeros."
    if not is_maybe(generator, Generator) or not (isinstance(p, Tensor) or is_float(p)):
        named = {} if generator is None else {"generator": generator}
        raise refused("bernoulli_", (p,), named, "Tensor p, *, claygrad.Generator generator = None",
                      "float p = 0.5, *, claygrad.Generator generator = None")
    if not isinstance(p, Tensor):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        if input.dtype.is_complex and input.numel() and not input.is_meta:
            raise unknown("bernoulli_scalar_cpu_", input.dtype)
        return fill(_bernoulli_by_number, input, KINDS["bernoulli"], generator, p, 0)
    if input.numel() and not input.is_meta:
        if input.dtype.is_complex:
            raise unknown("bernoulli_tensor_cpu_self_", input.dtype)
        if p.shape != input.shape:
            p.expand(input.shape)                               # for its refusals
        if not p.dtype.is_floating_point:
            raise unknown("bernoulli_tensor_cpu_p_", p.dtype)
    return fill(_bernoulli_by_tensor, input, KINDS["bernoulli_each"], generator, 0, 0, p)


_random_marks = [written("random_", f"RandomBackward{i}", "input") for i in range(3)]
_RANDOM_FORMS = ("*, claygrad.Generator generator = None", "int from, int to, *, claygrad.Generator generator = None",
                 "int to, *, claygrad.Generator generator = None")


@composite(function=False, raw=True)
def random_(input: Tensor, *bounds: int, generator: Generator | None = None, **named: int) -> Tensor:
    """Fill with whole numbers drawn evenly from [from, to): `random_()`, `random_(to)`, `random_(from, to)`.

    Without `to` the range ends with the dtype, for floating dtypes where whole numbers start to have gaps.
    """
    given = dict(zip(("from", "to") if len(bounds) > 1 or "to" in named else ("to",), bounds, strict=False)) | named
    if len(bounds) > 2:
        raise TypeError(f"random_() takes 2 positional arguments but {len(bounds)} were given")
    known = set(given) in ({"from", "to"}, {"to"}, set()) and len(given) == len(bounds) + len(named)
    if (not known or not is_maybe(generator, Generator)
            or any(not is_int(x) and not (x is None and key == "to" and "from" in given) for key, x in given.items())):
        named |= {} if generator is None else {"generator": generator}
        raise refused("random_", bounds, named, *_RANDOM_FORMS)
    mark = _random_marks[2 - len(given)]
    if not given:
        if input.dtype.is_complex and input.numel() and not input.is_meta:
            raise unknown("random_kernel_cpu", input.dtype)
        return fill(mark, input, KINDS["natural_range"], generator)
    to = given["to"]
    kind, low, width = range_of(input, as_int(given.get("from", 0)), None if to is None else as_int(to))
    return fill(mark, input, kind, generator, low, width)


def range_of(target: Tensor, low: int, to: int | None) -> tuple[int, int, int]:
    """How to draw whole numbers from [low, to) for a target: kind, base and width."""
    if target.is_meta:
        return KINDS["range"], 0, 1
    kind = target.dtype
    if to is None and low == -2**63:
        return _all_numbers(target)
    if to is not None and low >= to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={to}")
    if kind.is_complex:
        words = "random_from_to_impl" if to is None else "check_random_bounds"
        raise RuntimeError(f"{words} handles only integral, floating-point and boolean types")
    if kind.itemsize == 1 and kind.is_floating_point:
        raise unknown("random_update_from_to", kind)
    last = to - 1 if to is not None else 1 << DIGITS[kind.name] if kind.is_floating_point else BOUNDS[kind.name][1]
    if kind.is_floating_point:
        low = _next_from(low, kind)
        if to is not None:
            last = _previous_to(to, kind) - 1
            if low > last:
                raise RuntimeError("random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but "
                                   f"got from={low} >= to={last + 1}")
        elif low >= last:
            raise RuntimeError("random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                               f"dtype, but got from={low} > to_inc={last}")
    _check_bounds(low, last, kind)
    return KINDS["range"], low, last - low + 1


def _all_numbers(target: Tensor) -> tuple[int, int, int]:
    name = target.dtype.name
    if name in ("float16", "bool", "complex64", "complex128") and target.numel():
        raise unknown("random_full_64_bits_range_kernel_cpu", target.dtype)
    if name not in ("int64", "float64", "float32", "bfloat16") and target.numel():
        raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
    return KINDS["full_range"], 0, 0


def _check_bounds(low: int, last: int, kind: dtype) -> None:
    largest = LARGEST.get(kind.name)
    bottom, top = BOUNDS[kind.name] if largest is None else (-largest, largest)
    for bound, word in ((low, "from"), (last, "to - 1")):
        if not bottom <= bound <= top:
            raise RuntimeError(f"{word} is out of bounds for {kind.c_name}")
    if largest is None:
        return
    digits = DIGITS[kind.name]
    for bound, word in ((low, "from"), (last, "to - 1")):
        if not -(1 << digits) <= bound <= 1 << digits:
            warn(f"{word} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                 f"{kind.c_name} can support discrete uniform distribution only within this range. This "
                 "warning will become an error in version 1.7 release, please fix the code in advance",
                 UserWarning)


# Large whole numbers have gaps in floating dtypes: the ends of a range move inwards to the next number that exists,
# so that no draw is rounded to a number outside.
def _rounded(value: int, kind: dtype) -> int:
    """The number as the dtype has it; what does not fit into an int64 becomes the lowest, as on x86."""
    import numpy
    with numpy.errstate(over="ignore"):
        near = float(kind.numpy.type(numpy.float32(value) if kind.name in ("float16", "bfloat16") else value))
    return int(near) if -2.0**63 <= near < 2.0**63 else -2**63


def _next_from(low: int, kind: dtype) -> int:
    above = _rounded(low + 1, kind)
    return low if above >= low else above + (1 << (abs(low + 1).bit_length() - DIGITS[kind.name]))


def _previous_to(to: int, kind: dtype) -> int:
    below = _rounded(to - 1, kind)
    return to if below < to else below - (1 << (abs(to - 1).bit_length() - DIGITS[kind.name]))
