"""`gradcheck` of tangents: forward mode against finite differences, a direction at a time."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claygrad.autograd._finite_differences import _slope, as_tuple, close, direction, floating, requires_grad
from claygrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from claygrad.native.random import Generator
from claygrad.ops.fill import zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claygrad.core import Tensor


def compare(func: Callable[..., Any], args: tuple[Any, ...], eps: float, rtol: float, atol: float, check_dtypes: bool,
            fast: bool, error: type[Exception]) -> None:
    """Refuse tangents that are not what finite differences say."""
    wanted = [i for i, x in enumerate(args) if requires_grad(x)]
    several = any(args[i].is_complex() for i in wanted)
    for j, i in enumerate(wanted):
        x = args[i]
        for part, unit in (("imaginary", 1j), ("real", 1)) if x.is_complex() else (("real", 1),):
            for step in _steps(x, unit, fast):
                slopes = _slope(func, args, x.data, step, eps, None)
                tangents = _tangents(func, args, i, step.reshape(x.shape), check_dtypes, error)
                for k, (n, a) in enumerate(zip(slopes, tangents, strict=True)):
                    a = a.reshape(-1)
                    if not close(a, n, rtol, atol):
                        said = f"While considering the {part} part of complex inputs only, " if several else ""
                        raise error(f"{said}Jacobian computed with forward mode mismatch for output {k} with respect "
                                    f"to input {j},\n"
                                    f"numerical:{n}\nanalytical:{a}\n")


def _steps(x: Tensor, unit: complex, fast: bool) -> Iterator[Tensor]:
    if fast:
        yield direction(x, Generator()).to(x.dtype) * unit
        return
    for i in range(x.numel()):
        step = zeros_like(x).detach().reshape(-1)
        step[i] = unit
        yield step


def _tangents(func: Callable[..., Any], args: tuple[Any, ...], at: int, step: Tensor, check_dtypes: bool,
              error: type[Exception]) -> list[Tensor]:
    found = []
    with dual_level():
        duals = [make_dual(x.detach(), step if i == at else zeros_like(x).detach()) if requires_grad(x) else x
                 for i, x in enumerate(args)]
        for out in floating(as_tuple(func(*duals))):
            value, tangent = unpack_dual(out)
            if check_dtypes and tangent is not None and value.is_complex() != tangent.is_complex():
                raise error("Forward AD gradient has dtype mismatch.")
            found.append(zeros_like(value).detach() if tangent is None else tangent.detach().clone())
    return found


def check_undefined(func: Callable[..., Any], args: tuple[Any, ...], error: type[Exception]) -> None:
    """Where only some inputs have tangents, and these are zero, so must be the tangents of the outputs."""
    wanted = [i for i, x in enumerate(args) if requires_grad(x)]
    for chosen in [wanted, *([i] for i in wanted if len(wanted) > 1)]:
        with dual_level():
            duals = [make_dual(x.detach(), zeros_like(x).detach()) if i in chosen else
                     x.detach() if requires_grad(x) else x for i, x in enumerate(args)]
            for out in floating(as_tuple(func(*duals))):
                tangent = unpack_dual(out).tangent
                if tangent is not None and not tangent.eq(0).all():
                    raise error("Expected all output tangents to be zero or undefined where those of the inputs are: "
                                "the forward "
                                "derivative of the function is not linear in the tangents")
