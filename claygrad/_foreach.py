"""`torch._foreach_…`: an operation on each tensor of a list, with the tensors or numbers of others.

Each call runs the declared operation, with its native loop and its derivative; what is new are the lists.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.core import Tensor, result_type
from claygrad.ops._registry import METHODS, NAMESPACES
from claygrad.ops.creation import checked_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    def __getattr__(name: str) -> Callable[..., Any]:
        """The functions that the loops below make."""

_TORCH: dict[str, Any] = NAMESPACES["torch"]
_NORM: Any = NAMESPACES["linalg"]["vector_norm"]

_ALONE = ("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
          "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin",
          "sinh", "sqrt", "tan", "tanh", "trunc")
_PAIRS = {"add": "other", "sub": "other", "mul": "other", "div": "other", "maximum": "other", "minimum": "other",
          "clamp_max": "other", "clamp_min": "other", "pow": "exponent"}
_SCALED = ("add", "sub")                       # with alpha
_LIMITS = ("maximum", "minimum")               # of tensors alone
_BY_SCALAR_TENSOR = ("add", "mul", "div")      # take one tensor without axes for all


def _is_number(x: Any) -> bool:
    """Whether `x` is taken for a number: Python's, NumPy's, or a constant tensor without axes."""
    return isinstance(x, (int, float, complex)) or (hasattr(x, "item") and getattr(x, "ndim", 1) == 0
                                                    and not getattr(x, "requires_grad", False))


def _is_list(x: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(x, (list, tuple)) and all(kind(one) for one in x)


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _are_tensors(x: Any) -> bool:
    return _is_list(x, _is_tensor)


def _are_numbers(x: Any) -> bool:
    return _is_list(x, _is_plain_number)


def _is_plain_number(x: Any) -> bool:
    return _is_number(x) and not isinstance(x, Tensor)


def _any_of(*kinds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda x: any(kind(x) for kind in kinds)


def _names_of(given: Iterable[Any], named: dict[str, Any]) -> str:
    told = [type(one).__name__ for one in given] + [f"{name}={type(one).__name__}" for name, one in named.items()]
    return ", ".join(told)


def _refused(name: str, given: Sequence[Any], named: dict[str, Any], forms: Sequence[str]) -> TypeError:
    listed = "".join(f"\n * ({form})" for form in forms)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({_names_of(given, named)}), but "
                     f"expected one of:{listed}\n")


def _tensors(name: str, given: Any, param: str = "self", position: int = 1) -> Any:
    """The list of tensors that an argument has to be."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): argument '{param}' (position {position}) must be tuple of Tensors, not "
                        f"{type(given).__name__}")
    for i, one in enumerate(given):
        if not isinstance(one, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument {position - 1}, but got {type(one).__name__}")
    if not given and param == "self":
        raise RuntimeError("Tensor list must have at least one tensor.")
    return given


def _same_length(first: Any, other: Any) -> None:
    if len(first) != len(other):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")


def _for_each(tensors: Any, other: Any) -> Any:
    """What goes with each tensor: an element of a list, or the same for all."""
    if _are_numbers(other):
        if len(tensors) != len(other):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return other
    if isinstance(other, (list, tuple)):
        _same_length(tensors, other)
        return other
    return [other] * len(tensors)


def _bound(name: str, lists: tuple[str, ...], last: dict[str, Callable[[Any], bool]], args: tuple[Any, ...],
           kwargs: dict[str, Any], forms: Sequence[str]) -> list[Any]:
    """The arguments by position: lists of tensors, then one whose names each stand for a kind of value."""
    found, left = list(args), dict(kwargs)
    for param in lists[len(args):]:
        if param in left:
            found.append(left.pop(param))
    kinds = list(last.values())
    if len(found) == len(lists) and left:
        key = next(iter(left))
        kinds = [last[key]] if key in last else []
        found.append(left.pop(key))
    fits = not left and len(lists) <= len(found) <= len(lists) + 1 and all(map(_are_tensors, found[:len(lists)]))
    if not fits or not all(any(kind(one) for kind in kinds) for one in found[len(lists):]):
        raise _refused(name, args, kwargs, forms)
    return found


def _named(name: str, call: Callable[..., Any], words: str) -> None:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = words
    globals()[name] = call


def _result(made: list[Any], tensors: Any, inplace: bool) -> Any:
    return tensors if inplace else tuple(made)


def _alone(base: str, inplace: bool) -> None:
    name = f"_foreach_{base}{'_' * inplace}"
    function = METHODS[base + "_"] if inplace else _TORCH[base]

    def call(self: Any) -> Any:
        return _result([function(x) for x in _tensors(name, self)], self, inplace)
    _named(name, call, f"`{base}` of each tensor of a list{', in place' * inplace}.")


def _written(base: str) -> Callable[..., Tensor]:
    """The in-place form of an operation that has none of its own."""
    def write(x: Tensor, by: Tensor) -> Tensor:
        out = _TORCH[base](x, by)
        if not _TORCH["can_cast"](out.dtype, x.dtype):
            METHODS["add_"](x, by)              # says which types do not go together
        return x.copy_(out)
    return write


def _pair(base: str, other: str, inplace: bool) -> None:
    name = f"_foreach_{base}{'_' * inplace}"
    function = (METHODS.get(base + "_") or _written(base)) if inplace else _TORCH[base]
    scaled = ", *, Number alpha = 1" if base in _SCALED else ""
    one, many = (other, other) if base == "pow" else ("scalar", "scalars")
    forms = [f"tuple of Tensors self, Number {one}", f"tuple of Tensors self, tuple of Scalars {many}"]
    tensors_too = [_are_tensors]
    if base in _BY_SCALAR_TENSOR:
        forms.append(f"tuple of Tensors self, Tensor {other}{scaled}")
        tensors_too.append(_is_tensor)
    forms.append(f"tuple of Tensors self, tuple of Tensors {other}{scaled}")
    last = {one: _is_number, many: _are_numbers, other: _any_of(*tensors_too)}
    turned = base == "pow" and not inplace       # a number to the powers of a list
    if base == "pow":
        last = {other: _any_of(_is_number, _are_numbers, _are_tensors)}
    if turned:
        forms.insert(0, f"Number self, tuple of Tensors {other}")

    def call(*args: Any, **kwargs: Any) -> Any:
        if turned:
            base_number = args[0] if args else kwargs.get("self")
            if _is_number(base_number) and len(args) + len(kwargs) == 2:
                by = args[1] if len(args) > 1 else kwargs.get(other)
                return tuple(function(base_number, x) for x in _tensors(name, by, other, 2))
        options = {"alpha": kwargs["alpha"]} if "alpha" in kwargs and base in _SCALED else {}
        given = {key: value for key, value in kwargs.items() if key not in options}
        found = _bound(name, ("self",), last, args, given, forms)
        takes_alpha = len(found) == 2 and any(kind(found[1]) for kind in tensors_too)
        if len(found) != 2 or (options and not (takes_alpha and _is_number(options["alpha"]))):
            raise _refused(name, args, kwargs, forms)
        tensors, by = _tensors(name, found[0]), found[1]
        if isinstance(by, Tensor) and by.ndim:
            raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {by.ndim} dimensions and {by.numel()} "
                               "elements.")
        if isinstance(by, Tensor) and base not in _BY_SCALAR_TENSOR:
            by = by.item()
        out = []
        for x, with_it in zip(tensors, _for_each(tensors, by)):
            if isinstance(with_it, complex) and base in (*_LIMITS, "clamp_max", "clamp_min"):
                raise NotImplementedError("clamp is not supported for complex types")
            limit = _limit(x, with_it) if base in _LIMITS and not isinstance(with_it, Tensor) else with_it
            out.append(function(x, limit, **options))
        return _result(out, tensors, inplace)
    _named(name, call, f"`{base}` of each tensor of a list with a number, or with those of another list"
           f"{', in place' * inplace}.")


def _limit(x: Tensor, number: Any) -> Tensor:
    """A number as the tensor that `maximum` and `minimum` ask for."""
    out: Tensor = _TORCH["tensor"](number, dtype=result_type(x, number))
    return out


def _with_product(base: str, inplace: bool) -> None:
    name = f"_foreach_{base}{'_' * inplace}"
    function = METHODS[base + "_"] if inplace else _TORCH[base]
    lists = "tuple of Tensors self, tuple of Tensors tensor1, tuple of Tensors tensor2"
    forms = [f"{lists}, tuple of Scalars scalars", f"{lists}, Tensor scalars", f"{lists}, Number value = 1"]
    last = {"value": _is_number, "scalars": _any_of(_are_numbers, _is_tensor)}

    def call(*args: Any, **kwargs: Any) -> Any:
        found = _bound(name, ("self", "tensor1", "tensor2"), last, args, kwargs, forms)
        tensors, first, second = found[:3]
        _tensors(name, tensors)
        _same_length(tensors, first)
        _same_length(tensors, second)
        scale = found[3] if len(found) > 3 else 1
        if isinstance(scale, Tensor) and "value" in kwargs:
            scale = scale.item()
        if isinstance(scale, Tensor):
            if scale.ndim != 1:
                raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scale.ndim} instead.")
            if len(scale) != len(tensors):
                raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got "
                                   f"{len(scale)} instead.")
            scale = scale.tolist()
        out = [function(x, a, b, value=value) for x, a, b, value in zip(tensors, first, second,
                                                                         _for_each(tensors, scale))]
        return _result(out, tensors, inplace)
    _named(name, call, f"`{base}` of each tensor of a list with those of two others{', in place' * inplace}.")


def _blend(inplace: bool) -> None:
    name = f"_foreach_lerp{'_' * inplace}"
    function = METHODS["lerp_"] if inplace else _TORCH["lerp"]
    lists = "tuple of Tensors self, tuple of Tensors tensors1"
    forms = [f"{lists}, Number weight", f"{lists}, tuple of Scalars weight", f"{lists}, tuple of Tensors weights"]
    last = {"weight": _any_of(_is_number, _are_numbers), "weights": _are_tensors}

    def call(*args: Any, **kwargs: Any) -> Any:
        found = _bound(name, ("self", "tensors1"), last, args, kwargs, forms)
        if len(found) != 3:
            raise _refused(name, args, kwargs, forms)
        tensors, ends, weight = found
        _tensors(name, tensors)
        _same_length(tensors, ends)
        if isinstance(weight, Tensor):
            weight = weight.item()
        out = [function(x, end, by) for x, end, by in zip(tensors, ends, _for_each(tensors, weight))]
        return _result(out, tensors, inplace)
    _named(name, call, f"`lerp` of each tensor of a list to that of another{', in place' * inplace}.")


for _base in _ALONE:
    _alone(_base, False)
    _alone(_base, True)
for _base, _other in _PAIRS.items():
    _pair(_base, _other, False)
    _pair(_base, _other, True)
for _base in ("addcdiv", "addcmul"):
    _with_product(_base, False)
    _with_product(_base, True)
_blend(False)
_blend(True)


def _foreach_clone(self: Any, *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of each tensor of a list."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple(x.clone(**options) for x in _tensors("_foreach_clone", self))


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Each tensor of a list takes over the elements of that of another."""
    _same_length(_tensors("_foreach_copy_", self), _tensors("_foreach_copy_", src, "src", 2))
    if not isinstance(non_blocking, bool):
        raise TypeError("_foreach_copy_(): argument 'non_blocking' (position 3) must be bool, not "
                        f"{type(non_blocking).__name__}")
    for x, other in zip(self, src):
        x.copy_(other, non_blocking)
    return self


def _foreach_zero_(self: Any) -> Any:
    """Zeros in each tensor of a list."""
    for x in _tensors("_foreach_zero_", self):
        x.zero_()
    return self


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """The largest element of each tensor of a list."""
    if any(not x.numel() for x in _tensors("_foreach_max", self)):
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
                           "undefined.")
    return tuple(x.max() for x in self)


def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    """The products of the matrices of two lists."""
    others = _tensors("_foreach_mm", mat2, "mat2", 2)
    if isinstance(self, (list, tuple)) and not self:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    if len(_tensors("_foreach_mm", self)) != len(others):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return tuple(_TORCH["mm"](x, other) for x, other in zip(self, others))


def _order(name: str, order: Any) -> Any:
    if not _is_number(order):
        raise TypeError(f"{name}(): argument 'ord' (position 2) must be Number, not {type(order).__name__}")
    return order.item() if isinstance(order, Tensor) else order


def _foreach_norm(self: Any, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor of a list."""
    kind = checked_dtype("_foreach_norm", dtype)
    order = _order("_foreach_norm", ord)
    _tensors("_foreach_norm", self)
    if isinstance(order, (bool, complex)):
        raise RuntimeError("foreach_tensor_norm_slow expects ord to be integer or float")
    if order == float("inf") and any(not x.numel() for x in self):
        raise RuntimeError("_foreach_norm cannot compute the infinity norm on an empty tensor because the operation "
                           "does not have an identity")
    return tuple(_NORM(x, order, dtype=kind) for x in self)


def _foreach_powsum(self: Any, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the absolute elements to a power, of each tensor of a list."""
    kind = checked_dtype("_foreach_powsum", dtype)
    order = _order("_foreach_powsum", ord)
    if isinstance(order, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    cast = [x if kind is None else x.to(kind) for x in _tensors("_foreach_powsum", self)]
    if not all(x.is_floating_point() or x.is_complex() for x in cast):
        raise NotImplementedError("\"powsum_cpu\" not implemented for 'Long'")
    return tuple(x.abs().pow(order).sum() for x in cast)
