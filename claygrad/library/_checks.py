"""`torch.library.opcheck`: whether an operator does what it says."""
from __future__ import annotations

from typing import Any

from claygrad.core import Tensor
from claygrad.library._custom import Operator, operator_of
from claygrad.utils import pytree

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """An operator does not do what it says."""


class FakeImplCtx:
    """What `get_ctx` gives inside a function for shapes."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Refused: a size that depends on values is not known for a tensor without values."""
        raise NotImplementedError("get_ctx().new_dynamic_size(): claygrad has no symbolic sizes;\n"
                                  "  instead: run the operator on tensors with values")

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeImplCtx:
    """The context of a function for shapes."""
    return FakeImplCtx()


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: Any = _TESTS,
            raise_exception: bool = True, atol: float | None = None, rtol: float | None = None) -> dict[str, str]:
    """Check an operator with these arguments: what it writes into, its shapes on device meta, and its gradients."""
    operator = operator_of(op)
    chosen = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(chosen) - set(_TESTS)
    if unknown:
        raise ValueError(f"opcheck(op, ..., test_utils={test_utils}): expected test_utils to be subset of {_TESTS}")
    results = {}
    for name in chosen:
        try:
            _CHECKS[name](operator, args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as wrong:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {wrong} "
                                   "(scroll up for stack trace)") from wrong
            results[name] = wrong           # type: ignore[assignment]
    return results


def _copies(given: Any) -> Any:
    return pytree.tree_map_only(Tensor, lambda one: one.detach().clone().requires_grad_(one.requires_grad), given)


def _tensors(given: Any) -> list[Tensor]:
    return [one for one in pytree.tree_leaves(given) if isinstance(one, Tensor)]


def _schema(operator: Operator, args: Any, kwargs: Any) -> None:
    """What is written into is said to be, and nothing else is."""
    args, kwargs = _copies((args, kwargs))
    args, kwargs = pytree.tree_map_only(Tensor, lambda one: one.detach(), (args, kwargs))
    named = dict(zip((one.name for one in operator.schema.arguments), args), **kwargs)
    before = {name: _copies(value) for name, value in named.items()}
    operator(*args, **kwargs)
    for one in operator.schema.arguments:
        pairs = zip(_tensors(before.get(one.name)), _tensors(named.get(one.name)))
        changed = any(not old.equal(new) and not (old.isnan() & new.isnan()).any() for old, new in pairs)
        if changed and not one.is_write:
            raise RuntimeError(f"Argument {one.name} is not defined as mutable but was mutated")


def _fake(operator: Operator, args: Any, kwargs: Any) -> None:
    """Shapes and dtypes on device meta are those of the results."""
    with_values = _tensors(operator(*_copies(args), **_copies(kwargs)))
    to_meta = pytree.tree_map_only(Tensor, lambda one: one.detach().to("meta"), (args, kwargs))
    without = _tensors(operator(*to_meta[0], **to_meta[1]))
    for real, fake in zip(with_values, without, strict=True):
        if (real.shape, real.dtype) != (fake.shape, fake.dtype):
            raise AssertionError(f"Shapes {real.shape} and {fake.shape} or dtypes {real.dtype} and {fake.dtype} of "
                                 f"the result and "
                                 "of its fake are not equal!")


def _gradients(operator: Operator, args: Any, kwargs: Any) -> None:
    """Tensors that require gradients get them."""
    args, kwargs = _copies((args, kwargs))
    inputs = [one for one in _tensors((args, kwargs)) if one.requires_grad]
    outputs = [one for one in _tensors(operator(*args, **kwargs)) if one.requires_grad]
    if not inputs or not outputs:
        return
    from claygrad.autograd import grad
    grad([one.sum() for one in outputs], inputs, allow_unused=True)


_CHECKS = {"test_schema": _schema, "test_autograd_registration": _gradients, "test_faketensor": _fake,
           "test_aot_dispatch_dynamic": _gradients}
