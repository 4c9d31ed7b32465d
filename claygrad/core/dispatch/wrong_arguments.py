"""Errors of calls whose arguments do not fit, and the names of types in them."""
from __future__ import annotations

from typing import Any

from claygrad.core.data.dtype import prefix

# Classes of claygrad's that are compiled in torch, which prints their module too.
_COMPILED = {**{name: name for name in ("dtype", "device", "Size", "layout", "memory_format", "iinfo", "finfo")},
             "Generator": "_C.Generator", "Storage": "storage.UntypedStorage"}


def type_name(value: Any) -> str:
    """The type of an argument as torch's errors print it: compiled classes with their module before them."""
    kind = type(value)
    home, name = kind.__module__, kind.__name__
    if home.partition(".")[0] == "claygrad":
        if home == "claygrad.return_types":
            return f"{prefix()}.return_types.{name}"
        return f"{prefix()}.{_COMPILED[name]}" if name in _COMPILED else name
    compiled = home == "numpy" or (kind.__flags__ & 1 << 8 and home != "builtins")
    return f"{home}.{name}" if compiled else name


def no_such_overload(op: Any, method: bool, out: bool, given: tuple, named: dict[str, Any]) -> TypeError:
    """torch's message for a call that matches neither the overload with a tensor nor the one with a number."""
    got = [type_name(value) for value in given[method:]]
    got += [f"{name}={type_name(value)}" for name, value in named.items()]
    first, last = ("" if method else "Tensor input, "), (", *, Tensor out = None" if out and not method else "")
    forms = [f" * ({first}{kind} {op.params[1]}{last})" for kind in ("Tensor", "Number")]
    return TypeError(f"{op.name}() received an invalid combination of arguments - got ({', '.join(got)}), but expected "
                     "one of:\n" + "\n".join(forms))


# Operations with several overloads in PyTorch, whose errors list the combination of arguments.
SEVERAL_FORMS = frozenset((
    "addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ all any argsort "
    "baddbmm baddbmm_ bernoulli bernoulli_ bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ "
    "bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bucketize clamp "
    "clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ conv1d conv2d conv3d copysign copysign_ "
    "count_nonzero ctc_loss cumulative_trapezoid divide divide_ dsplit embedding_bag eq eq_ fill fill_ "
    "float_power float_power_ floor_divide floor_divide_ fmod fmod_ ge ge_ gradient greater greater_ "
    "greater_equal greater_equal_ gt gt_ histogram histogramdd hsplit index_fill index_fill_ le le_ lerp lerp_ "
    "less less_ less_equal less_equal_ lt lt_ masked_fill masked_fill_ max mean min moveaxis movedim multiply "
    "multiply_ nanquantile narrow ne ne_ not_equal not_equal_ pow pow_ prod quantile random_ remainder "
    "remainder_ repeat_interleave rsub scatter scatter_ searchsorted set_ sort squeeze squeeze_ squeeze_copy "
    "sspaddmm std std_mean subtract subtract_ sum tensor_split to to_sparse trapezoid trapz true_divide "
    "true_divide_ var var_mean view view_copy vsplit where xlogy xlogy_ ").split())


def unexpected_keyword(name: str, params: tuple[str, ...], given: list[Any], keywords: dict[str, Any],
                       unknown: str) -> TypeError:
    """PyTorch's error for an unknown keyword."""
    if name not in SEVERAL_FORMS:
        return TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    got = ", ".join([*map(type_name, given), *(f"{key}={type_name(value)}" for key, value in keywords.items())])
    got += ", " * (not given)             # as PyTorch writes it
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                     f" * ({', '.join(params)})")
