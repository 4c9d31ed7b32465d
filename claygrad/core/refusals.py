"""What the tensor says when its state is changed in a way that it does not take. No tensor is needed to say it."""
from __future__ import annotations

from typing import Any

from claygrad.core.notices import warn, warn_once

NOT_A_LEAF = "you can only change requires_grad flags of leaf variables."


def warn_about_grad_of_non_leaf() -> None:
    warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
         "won't be "
         "populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
         "non-leaf Tensor, "
         "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
         "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
         UserWarning)


def warn_about_scalar() -> None:
    warn_once("scalar", "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
              "Consider using tensor.detach() first.")


def check_assigned_grad(tensor: Any, grad: Any) -> None:
    """Refuse a `.grad` that is not a gradient of the tensor."""
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.dtype is not tensor.dtype:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{grad.dtype.c_name}' to a tensor with "
                           f"grad_dtype "
                           f"'{tensor.dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to "
                           f"the tensor's "
                           "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                           "allow any dtype. "
                           "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
                           "downstream "
                           "systems that assume they match.")
    if grad.device.type != tensor.device.type:
        raise RuntimeError(f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor with "
                           f"device type "
                           f"'{tensor.device.type}'. Please ensure that the gradient and the tensor are on the same "
                           f"device")
    if grad.shape != tensor.shape:
        raise RuntimeError(f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size "
                           f"'{list(tensor.shape)}'. "
                           "Please ensure that the gradient and the tensor are the same size")


def check_data(tensor: Any, data: Any) -> None:
    """Refuse a `.data` that the tensor cannot take over."""
    if tensor.requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if data.device.type != tensor.device.type:
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                           "incompatible tensor type.")


def not_a_leaf(value: bool) -> RuntimeError:
    """Why requires_grad of a computed tensor cannot be set."""
    if value:
        return RuntimeError(NOT_A_LEAF)
    return RuntimeError(NOT_A_LEAF + " If you want to use a computed variable in a subgraph that doesn't require "
                                     "differentiation use "
                        "var_no_grad = var.detach().")


def view_detached() -> RuntimeError:
    return RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
                        "(DDP) for training, "
                        "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                        "detach_() cannot be "
                        "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                        "function in "
                        "torch/optim/optimizer.py as the solution.")


_SCALED = {"add": ("alpha",), "sub": ("alpha",), "addcmul": ("value",), "addcdiv": ("value",),
           **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), ("beta", "alpha"))}
_told: set[str] = set()


def old_form(name: str, given: tuple) -> tuple[tuple, dict[str, Any]] | None:
    """Arguments of torch's deprecated signatures, which have factors among the tensors (`add(x, 2, y)`,
    `addmm(beta, x, alpha, a, b)`), in the order of today; None if these are not such."""
    words = _SCALED.get(name.rstrip("_"))
    if words is None:
        return None
    factors = [value for value in given if isinstance(value, (int, float, complex))]
    tensors = tuple(value for value in given if not isinstance(value, (int, float, complex)))
    if not 0 < len(factors) <= len(words) or len(tensors) != (2 if words == ("alpha",) else 3):
        return None
    if (len(words) == 1 and not isinstance(given[1], (int, float, complex))) or given[-1] is not tensors[-1]:
        return None
    if not _told:                                # once, as torch
        _told.add(name)
        forms = [", ".join(f"{'Number' if isinstance(value, (int, float, complex)) else 'Tensor'}"
                            for value in given), ", ".join(
            ["Tensor"] * len(tensors) + ["*", *(f"Number {word} = 1" for word in words)])]
        warn(f"This overload of {name} is deprecated:\n\t{name}({forms[0]})\nConsider using one of the "
             f"following signatures instead:\n\t{name}({forms[1]})", UserWarning)
    return tensors, dict(zip(words, factors))


def no_such_overload(op: Any, method: bool, out: bool, given: tuple, named: dict[str, Any]) -> TypeError:
    """torch's text for a call that fits neither the signature with a tensor nor the one with a number."""
    got = [type(value).__name__ for value in given[method:]]
    got += [f"{name}={type(value).__name__}" for name, value in named.items()]
    first, last = ("" if method else "Tensor input, "), (", *, Tensor out = None" if out and not method else "")
    forms = [f" * ({first}{kind} {op.params[1]}{last})" for kind in ("Tensor", "Number")]
    return TypeError(f"{op.name}() received an invalid combination of arguments - got ({', '.join(got)}), but expected "
                     "one of:\n" + "\n".join(forms))
