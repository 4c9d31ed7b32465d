"""Checks gradients against finite differences: (f(x + eps) - f(x - eps)) / (2 eps), element by element.

A Jacobian is held as a matrix of input elements by output elements. For a complex input z = x + iy and a real output
its entry is df/dx + i df/dy, which is what backward gives; a complex output is checked as its imaginary and its real
part. `fast_mode` compares one product v.J.u with random u, v instead of J itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claygrad.autograd._finite_differences import (
    as_tuple,
    basis,
    close,
    component,
    differentiable,
    direction,
    floating,
    numerical,
    part_of,
    random_seed,
    requires_grad,
    slopes,
    sources,
)
from claygrad.autograd._run import grad
from claygrad.autograd._sparse_inputs import as_dense, is_sparse
from claygrad.autograd.function import Function
from claygrad.core import Tensor, complex128, float64
from claygrad.core.user_warnings import warn
from claygrad.native.random import Generator
from claygrad.ops.fill import zeros, zeros_like
from claygrad.ops.join import stack
from claygrad.ops.random import randn_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The gradients are not what finite differences say, or backward misbehaves in another way."""


_NO_BATCHES = ("gradcheck or gradgradcheck failed while testing batched gradient computation.\n"
               "  gradients of sparse inputs cannot be stacked to a batch: pass check_batched_grad=False")


class _Rules(NamedTuple):
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True if the gradients of func at the inputs that require grad agree with finite differences.

    If not, a `GradcheckError` shows both, or False is returned under `raise_exception=False`. The default tolerances
    are for float64. Backward is run twice and may differ by `nondet_tol` at most; it must give zeros for a zero
    gradient (to within rounding if `masked`) and, with `check_undefined_grad`, bear with an absent one. With
    `check_batched_grad`, `grad(..., is_grads_batched=True)` must give what the seeds give one by one. Of sparse inputs
    all elements are checked, or only their entries if `masked`. With `check_forward_ad` the tangents of forward mode
    are compared with finite differences too.

    >>> x = claygrad.tensor([1.0, 2.0], dtype=claygrad.float64, requires_grad=True)
    >>> claygrad.autograd.gradcheck(lambda x: x**2, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    _refuse(check_batched_forward_grad, "check_batched_forward_grad", "claygrad does not compute batches of tangents "
                                                                      "at once")
    args = as_tuple(inputs)
    if any(map(is_sparse, args)):
        if check_batched_grad and any(is_sparse(x) and x.requires_grad for x in args):
            if raise_exception:
                raise GradcheckError(_NO_BATCHES)
            return False
        func, args = as_dense(func, args, bool(masked), fast_mode, GradcheckError)
    rules = _Rules(eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        _check_inputs(args)
        if check_backward_ad:
            _check_jacobians(func, args, rules, fast_mode)
        if check_forward_ad:
            _check_forward(func, args, rules, fast_mode, check_undefined_grad)
        if check_backward_ad:
            _check_backward(func, args, check_batched_grad, check_undefined_grad, bool(masked))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradient of func, as a function of its inputs and of the gradient that it starts from.

    `grad_outputs` are random unless given.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    args = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(as_tuple(func(*args)))
        seeds = tuple(random_seed(out, gen_non_contig_grad_outputs) for out in outputs)
    else:
        seeds = as_tuple(grad_outputs)
    wanted = [i for i, x in enumerate(args) if requires_grad(x)]
    varied = [i for i, g in enumerate(seeds) if g.requires_grad]

    def gradient(*both: Any) -> tuple[Tensor, ...]:
        xs, gs = both[: len(args)], both[len(args) :]
        for x in [*(xs[i] for i in wanted), *(gs[i] for i in varied)]:
            x.requires_grad_()
        outputs = differentiable(as_tuple(func(*xs)))
        sources = [xs[i] for i in wanted]
        grads = grad(outputs, sources, gs, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient,
        args + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _refuse(asked: bool, argument: str, why: str) -> None:
    if asked:
        raise NotImplementedError(f"{argument}=True is not supported: {why}")


# ---- the check ------------------------------------------------------------------------------------------------------


def _check_jacobians(func: Callable, args: tuple, rules: _Rules, fast: bool) -> None:
    outputs = as_tuple(func(*args))
    compare = _compare_products if fast else _compare_jacobians
    complex_outputs = {i for i, out in enumerate(differentiable(outputs)) if out.is_complex()}
    if any(out.is_complex() for out in outputs):
        for part in ("imaginary", "real"):
            part_func = part_of(func, part)
            said = f"While considering the {part} part of complex outputs only, "
            prefixes = dict.fromkeys(complex_outputs, said)
            compare(part_func, args, as_tuple(part_func(*args)), rules, prefixes)
    else:
        compare(func, args, outputs, rules, {})


def _check_forward(func: Callable, args: tuple, rules: _Rules, fast: bool, undefined: bool) -> None:
    from claygrad.autograd import _forward_check  # forward mode is loaded where it is used

    _forward_check.compare(func, args, rules.eps, rules.rtol, rules.atol, rules.check_grad_dtypes, fast, GradcheckError)
    if undefined:
        _forward_check.check_undefined(func, args, GradcheckError)


def _check_backward(func: Callable, args: tuple, batched: bool, undefined: bool, masked: bool) -> None:
    outputs = as_tuple(func(*args))
    if batched:
        _check_batched(differentiable(outputs), args)
    _check_linear_in_seed(differentiable(outputs), args, masked)
    if undefined:
        _check_undefined(func, args)


def _check_inputs(args: tuple) -> None:
    for i, x in enumerate(args):
        if not requires_grad(x):
            continue
        if x.dtype not in (float64, complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not any(map(requires_grad, args)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _compare_jacobians(func: Callable, args: tuple, outputs: tuple, rules: _Rules, prefixes: dict[int, str]) -> None:
    targets = sources(args)
    found = [numerical(func, args, x, outputs, rules.eps) for x in targets]
    ends = differentiable(outputs)
    if not ends and any(j.ne(0).any() for row in found for j in row):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    places = [k for k, out in enumerate(floating(outputs)) if out.requires_grad]
    for i, (k, out) in enumerate(zip(places, ends, strict=True)):
        for j, analytical in enumerate(_analytical(out, targets, basis(out), rules)):
            if not close(analytical, found[j][k], rules.rtol, rules.atol):
                raise GradcheckError(prefixes.get(i, "") + _mismatch(i, j, found[j][k], analytical))


def _compare_products(func: Callable, args: tuple, outputs: tuple, rules: _Rules, prefixes: dict[int, str]) -> None:
    targets, ends = sources(args), differentiable(outputs)
    generator = Generator()  # its fixed seed gives every run the same directions
    us = [[direction(x, generator) for _ in range(1 + x.is_complex())] for x in targets]
    vs = [direction(out, generator) for out in ends]
    places = [k for k, out in enumerate(floating(outputs)) if out.requires_grad]
    rises = [slopes(func, args, x.data, u, rules.eps) for x, u in zip(targets, us, strict=True)]
    if not ends and any((s.abs() > rules.nondet_tol).any() for row in rises for s in row):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for i, (k, out, v) in enumerate(zip(places, ends, vs, strict=True)):
        for j, vj in enumerate(_analytical(out, targets, [v], rules)):
            parts = zip(us[j], (1, 1j), strict=False)
            a: Any = sum((component(vj, c).reshape(-1) * u).sum() * unit for c, (u, unit) in enumerate(parts))
            n = (v * rises[j][k]).sum()
            scale = float(sum(u.sum() for u in us[j])) * float(v.sum())
            if not close(a, n, rules.rtol, rules.atol * scale):
                raise GradcheckError(
                    prefixes.get(i, "")
                    + _mismatch(i, j, n, a)
                    + _in_full(func, args, outputs, k, j, out, targets, rules)
                )


def _mismatch(i: int, j: int, numerical: Tensor, analytical: Tensor) -> str:
    return (
        f"Jacobian mismatch for output {i} with respect to input {j},\nnumerical:{numerical}\nanalytical:{analytical}\n"
    )


def _in_full(
    func: Callable, args: tuple, outputs: tuple, k: int, j: int, out: Tensor, targets: list, rules: _Rules
) -> str:
    """After a mismatch of products, the Jacobians themselves."""
    n = numerical(func, args, targets[j], outputs, rules.eps)[k]
    a = _analytical(out, targets, basis(out), rules)[j]
    text = (
        "These are products of the Jacobian with random vectors (fast_mode=True). The Jacobian itself is\n"
        f"numerical:{n}\nanalytical:{a}\nwith a largest difference of {(a - n).abs().amax().item():g}.\n"
    )
    if close(a, n, rules.rtol, rules.atol):
        text += "Element by element it is within the tolerances: fast_mode=False would pass.\n"
    return text


# ---- backward -------------------------------------------------------------------------------------------------------


def _analytical(out: Tensor, targets: list[Tensor], seeds: Tensor | Sequence[Tensor], rules: _Rules) -> list[Tensor]:
    """The gradient of out by each target, one column per seed; run twice, for backward may not wander."""
    first, second = [_columns(out, targets, seeds, rules.check_grad_dtypes) for _ in range(2)]
    for a, b in zip(first, second, strict=True):
        if a.numel() and (a - b).abs().amax() > rules.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                f"nondeterminism was {rules.nondet_tol}."
            )
    return first


def _columns(out: Tensor, targets: list[Tensor], seeds: Tensor | Sequence[Tensor], check_dtypes: bool) -> list[Tensor]:
    jacobians = [zeros(x.numel(), len(seeds), dtype=x.dtype) for x in targets]
    for column, seed in enumerate(seeds):
        grads = grad(out, targets, seed.reshape(out.shape), retain_graph=True, allow_unused=True)
        for jacobian, g, x in zip(jacobians, grads, targets, strict=True):
            if g is None:
                continue
            if g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if check_dtypes and g.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            jacobian[:, column] = (g.to_dense() if is_sparse(g) else g).detach().reshape(-1)
    return jacobians


def _check_batched(outputs: tuple[Tensor, ...], args: tuple) -> None:
    targets = sources(args)
    for i, out in enumerate(outputs):
        seeds = [randn_like(out) for _ in range(2)]
        singly = [grad(out, targets, seed, retain_graph=True, allow_unused=True) for seed in seeds]
        try:
            batch = grad(out, targets, stack(seeds), retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for j, (found, *expected) in enumerate(zip(batch, *singly, strict=True)):
            if found is None and expected == [None, None]:
                continue
            rows = stack([zeros_like(targets[j]) if g is None else g for g in expected])
            if found is None or not close(found, rows, 1e-5, 1e-8):
                raise GradcheckError(f"For output {i} and input {j}, batched gradients are not those of the seeds "
                                     f"one by one.\n\nGot:\n{found}\n\nExpected:\n{rows}")


def _check_linear_in_seed(outputs: tuple[Tensor, ...], args: tuple, masked: bool) -> None:
    if not outputs:
        return
    targets = sources(args)
    zeros = [zeros_like(out) for out in outputs]
    for g, x in zip(grad(outputs, targets, zeros, allow_unused=True), targets, strict=True):
        if g is None:
            continue
        if is_sparse(g):                        # all that is differentiated is dense
            raise GradcheckError("grad is incorrect layout")
        if not (close(g, zeros_like(g), 1e-5, 1e-8) if masked else g.eq(0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        for what, same in (
            ("type", g.dtype == x.dtype),
            ("device", g.device == x.device),
            ("size", g.shape == x.shape),
        ):
            if not same:
                raise GradcheckError(f"grad is incorrect {what}")


class _Absent(Function):
    """The identity, whose backward gives no gradient at all."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


def _check_undefined(func: Callable, args: tuple) -> None:
    """Backward must bear with outputs of which no gradient arrives: all of them, and each one alone."""
    outputs = differentiable(as_tuple(func(*args)))
    if not outputs:
        return
    _check_absent([_Absent.apply(out) for out in outputs], args)
    for absent in range(len(outputs) if len(outputs) > 1 else 0):
        outputs = differentiable(as_tuple(func(*args)))
        _check_absent([_Absent.apply(out) if i == absent else out for i, out in enumerate(outputs)], args)


def _check_absent(outputs: list[Tensor], args: tuple) -> None:
    where = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    zeros = [zeros_like(out) for out in outputs]
    try:
        grads = grad(outputs, sources(args), zeros, allow_unused=True)
    except RuntimeError as error:
        warn(
            "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it "
            "may break existing callers of this function. If this is true for you, you can call this function with "
            '"check_undefined_grad=False" to disable the feature'
        )
        raise GradcheckError(f"Expected backward function to handle undefined output grads. {where}") from error
    if not all(g is None or g.eq(0).all() for g in grads):
        raise GradcheckError(
            f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {where}"
        )


# ---- older names ----------------------------------------------------------------------------------------------------


def _old(name: str, grad_out: float) -> None:
    warn(f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will "
         "be removed in a future version of PyTorch. If you have a specific use for this or feature request for this "
         "to be a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(fn: Callable, inputs: tuple, target: Any = None, eps: float = 1e-3,
                           grad_out: float = 1.0) -> tuple[Tensor, ...]:
    """The Jacobians of the first output of `fn(inputs)` by each input that requires grad, or by the targets."""
    _old("get_numerical_jacobian", grad_out)
    targets = sources(as_tuple(inputs if target is None else target))
    func = lambda *args: fn(args)
    outputs = as_tuple(func(*inputs))
    return tuple(numerical(func, tuple(inputs), x, outputs, eps)[0] for x in targets)


def get_analytical_jacobian(inputs: tuple, output: Tensor, nondet_tol: float = 0.0,
                            grad_out: float = 1.0) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of an output by each input that requires grad; whether a second backward gives the same; whether
    all gradients had the right size and the right dtype."""
    _old("get_analytical_jacobian", grad_out)
    if output.is_complex():
        raise ValueError("Expected output to be non-complex. get_analytical_jacobian no longer supports functions that "
                         "return complex outputs.")
    targets = sources(as_tuple(inputs))
    first, second = [_columns(output, targets, basis(output), False) for _ in range(2)]
    same = all(not a.numel() or bool((a - b).abs().amax() <= nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(first), same, True, True       # the engine sees to sizes and dtypes
