"""Pruning: parameters with some of their elements held at zero by a mask."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

from claygrad.core import Tensor
from claygrad.core.cpython.entry_points import guard_package
from claygrad.nn.modules.module import Module
from claygrad.nn.utils.convert_parameters import parameters_to_vector
from claygrad.ops._formats import contiguous_format as _contiguous
from claygrad.ops._registry import NAMESPACES

_ops: dict[str, Any] = NAMESPACES["torch"]


class BasePruningMethod(ABC):
    """A way of pruning, and the forward pre-hook that keeps a tensor pruned: `name = name_orig * name_mask`.

    A class of your own says what kind it is in `PRUNING_TYPE`, "unstructured", "structured" or "global", and which
    elements stay in `compute_mask`.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where a tensor keeps its elements, zeros elsewhere; where the default mask has zeros, zeros stay."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
              ) -> BasePruningMethod:
        """Prune a parameter of a module, on top of what was pruned already.

        `importance_scores`, of the same shape, decide instead of the values themselves.
        """
        method = _joined(cls, module, name, *args, **kwargs)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{scores.shape} vs {original.shape}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            present = _ops["ones_like"](original).detach()
        else:
            present = getattr(module, name + "_mask").detach().clone()
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=present))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned tensor, of no module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {scores.shape} vs "
                                 f"{t.shape}")
        present = _ops["ones_like"](t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=present)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter for good."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _joined(cls: type[BasePruningMethod], module: Module, name: str, *args: Any, **kwargs: Any) -> BasePruningMethod:
    """A new method for a tensor; together with the one that prunes it already, if one does."""
    hooks = module._forward_pre_hooks
    found = [key for key, hook in hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
    if len(found) > 1:
        raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                             "PruningContainer.")
    former: Any = hooks.pop(found[0]) if found else None
    method = cls(*args, **kwargs)
    method._tensor_name = name
    if former is None:
        return method
    container = former if isinstance(former, PruningContainer) else PruningContainer(former)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods one after the other on one tensor; each sees only what the ones before it left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same tensor at the end."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, on what the default mask leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        where = _left(method, t, default_mask)
        mask[where] = method.compute_mask(t[where], default_mask=default_mask[where]).to(dtype=mask.dtype)
        return mask


def _left(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
    """An index of the part of a tensor that a method may still prune."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return (slice(None),) * t.dim()
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim if method.dim >= 0 else method.dim + t.dim()
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return _along(kept, dim, t.dim())


def _along(index: Any, dim: int, ndim: int) -> tuple[Any, ...]:
    place: list[Any] = [slice(None)] * ndim
    place[dim] = index
    return tuple(place)


# --- amounts -----------------------------------------------------------------------------------------------------
def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of so many elements an amount means: a number of them, or a fraction."""
    return int(amount) if isinstance(amount, Integral) else round(amount * tensor_size)


def _how_many(amount: Any, size: int) -> int:
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _channels(t: Tensor, dim: int) -> int:
    if t.ndim <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{t.shape} with {t.ndim} dims")
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return t.shape[dim]


def _kept_channels(t: Tensor, dim: int, kept: Tensor, default_mask: Tensor) -> Tensor:
    mask = _ops["zeros_like"](t).detach()
    mask[_along(kept, dim, t.ndim)] = 1
    return mask.mul_(default_mask.to(dtype=mask.dtype))


# --- methods -----------------------------------------------------------------------------------------------------
class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask that later pruning changes."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:         # type: ignore[override]
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _how_many(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=_contiguous)
        if count:
            mask.view(-1)[_ops["rand_like"](t).view(-1).topk(count)[1]] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:      # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _how_many(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=_contiguous)
        if count:
            mask.view(-1)[t.detach().abs().view(-1).topk(count, largest=False)[1]] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: float,                # type: ignore[override]
              importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prunes whole channels at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        channels = _channels(t, self.dim)
        count = _how_many(self.amount, channels)
        if not count:
            return default_mask
        drawn = _ops["rand"](channels)
        return _kept_channels(t, self.dim, drawn > drawn.kthvalue(k=count).values, default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the channels of the smallest norms of order n."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        channels = _channels(t, self.dim)
        count = _how_many(self.amount, channels)
        if not count:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = t.detach().norm(self.n, others)
        return _kept_channels(t, self.dim, norms.topk(channels - count)[1], default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: Any, dim: int,          # type: ignore[override]
              importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape "
                                 f"{self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:       # type: ignore[override]
        return super().apply(module, name, mask=mask)


# --- functions ---------------------------------------------------------------------------------------------------
def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask without pruning it."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements of a parameter at random; `amount` is their number, or a fraction."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune the elements of a parameter that are nearest to zero."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune channels of a parameter along an axis at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
                  ) -> Any:
    """Prune the channels of a parameter along an axis whose norms of order n are smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune several parameters, pairs of module and name, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores: Any = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    values = parameters_to_vector([scores.get(pair, tensor) for pair, tensor in zip(pairs, tensors)])
    present = parameters_to_vector([getattr(module, name + "_mask", _ops["ones_like"](tensor))
                                    for (module, name), tensor in zip(pairs, tensors)])
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    mask = PruningContainer(method).compute_mask(values, present)
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one, with zeros where it was pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether any parameter inside a module is pruned."""
    return any(isinstance(hook, BasePruningMethod)
               for inner in module.modules() for hook in inner._forward_pre_hooks.values())

guard_package(__name__)          # Note [Entry points]
