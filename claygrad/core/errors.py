"""Errors of tensors and operations, with PyTorch's messages. Nothing here needs a tensor."""
from __future__ import annotations

from typing import Any

from claygrad.core.user_warnings import warn, warn_once

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
    wanted = tensor.grad_dtype if tensor.is_leaf else tensor.dtype
    if grad.dtype is not wanted and wanted is not None:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{grad.dtype.c_name}' to a tensor with "
                           f"grad_dtype "
                           f"'{wanted.legacy}'. The gradient must match the tensor's grad_dtype (defaults to "
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


class Lacking(NotImplementedError, AttributeError):
    """A function that the array module of an accelerator lacks."""


def check_data(tensor: Any, data: Any, is_tensor: bool) -> None:
    """Refuse a `.data` that the tensor cannot take over."""
    if not is_tensor:
        raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
    if tensor.requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if data.is_meta != tensor.is_meta or data.layout is not tensor.layout:
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                           "incompatible tensor type.")


_LAYOUTS = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}


def no_elements() -> RuntimeError:
    """Why the memory of a sparse tensor cannot be read as a dense one's."""
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage\n"
                        "  A sparse tensor keeps indices and values: see to_dense(), indices() and values().")


def no_storage(tensor: Any) -> NotImplementedError:
    """Why a sparse tensor has no storage to give out."""
    kind = "SparseTensorImpl" if tensor.is_sparse else "SparseCsrTensorImpl"
    return NotImplementedError(f"Cannot access storage of {kind}\n  The storages are those of its indices and values.")


def no_array(tensor: Any) -> TypeError:
    """Why a sparse tensor is no NumPy array."""
    if tensor.layout.name == "strided":
        return TypeError(f"can't convert {type(tensor).__name__} to numpy: it is a wrapper without memory of its own.")
    return TypeError(f"can't convert {_LAYOUTS[tensor.layout.name]} layout tensor to numpy. Use Tensor.to_dense() "
                     "first.")


def no_memory(tensor: Any) -> RuntimeError:
    """Why the elements of a tensor without memory cannot be read."""
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage\n"
                        f"  {type(tensor).__name__} is a wrapper: its __torch_dispatch__ must answer for it.")


def no_array_on_meta() -> TypeError:
    """Why a tensor without memory is no NumPy array."""
    return TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                     "memory first.")


def no_array_of_bits(conjugate: bool) -> RuntimeError:
    """Why a conjugate or negative that is not computed yet is no NumPy array."""
    bit, name = ("conjugate", "conj") if conjugate else ("negative", "neg")
    return RuntimeError(f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{name}().numpy() "
                        "instead.")


def no_subclass() -> TypeError:
    """Why a tensor cannot be made an instance of a class."""
    return TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make "
                     "sure your class inherits from Tensor.")


def cannot_create(data: Any, require_grad: Any, has_tensor: bool) -> TypeError:
    """Which argument of `_make_subclass` is not what it must be."""
    if has_tensor:
        return TypeError("_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                         f"{type(require_grad).__name__}")
    return TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")


def no_flag(given: Any) -> TypeError:
    """The error of `requires_grad_` for an argument that is no bool."""
    return TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                     f"{type(given).__name__}")


def no_strides(tensor: Any, what: str) -> RuntimeError:
    """Why a tensor compressed by rows or columns has no strides."""
    return RuntimeError(f"Sparse {tensor.layout.name[7:].upper()} tensors do not have {what}")


def bytes_of_sparse(tensor: Any) -> int:
    """The bytes of a dense tensor of the same shape, as PyTorch counts those of compressed ones."""
    if tensor.is_sparse:
        raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent "
                           "tensors, add the nbytes of the indices and values.  If you want the size of the  "
                           "equivalent dense tensor, multiply numel() by element_size()")
    return int(tensor.numel() * tensor.element_size())


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


def old_form(name: str, operands: tuple[str, ...], method: bool, out: bool, given: tuple) \
        -> tuple[tuple, dict[str, Any]] | None:
    """Reorder the arguments of torch's deprecated signatures, with factors before operands (`add(x, 2, y)`,
    `addmm(beta, x, alpha, a, b)`), to today's order; None for other arguments."""
    words = _SCALED.get(name.rstrip("_"))
    if words is None:
        return None
    first, *rest = operands
    if len(words) == 1:
        orders = [(first, *words, *rest)]
    else:
        orders = [(first, *some, *rest) if method else (*some[:1], first, *some[1:], *rest)
                  for some in (words, words[:1])]
    for order in orders:
        if len(order) != len(given):
            continue
        named = dict(zip(order, given, strict=True))
        if not all(_is_factor(value) if word in words else _is_operand(word, value) for word, value in named.items()):
            continue
        _tell_of_old_form(name, order, operands, words, method, out)
        return tuple(named[word] for word in operands), {word: named[word] for word in words if word in named}
    return None


def _is_factor(value: Any) -> bool:
    if isinstance(value, (int, float, complex)):
        return True
    return getattr(value, "ndim", 1) == 0 and not getattr(value, "requires_grad", True)


def _is_operand(word: str, value: Any) -> bool:
    return hasattr(value, "requires_grad") or (word == "other" and isinstance(value, (int, float, complex)))


def _tell_of_old_form(name: str, order: tuple[str, ...], operands: tuple[str, ...], words: tuple[str, ...],
                      method: bool, out: bool) -> None:
    old = [f"{'Number' if word in words else 'Tensor'} {word}" for word in order][method:]
    now = [*[f"Tensor {word}" for word in operands][method:], "*", *(f"Number {word} = 1" for word in words)]
    if out and not method:
        old, now = [*old, "*", "Tensor out = None"], [*now, "Tensor out = None"]
    warn_once("old form", f"This overload of {name} is deprecated:\n\t{name}({', '.join(old)})\nConsider using one of "
                          f"the following signatures instead:\n\t{name}({', '.join(now)})")


_OF_NODES = frozenset((
    "_register_hook_dict", "register_hook", "register_prehook", "next_functions", "name", "_sequence_nr",
    "_set_sequence_nr", "_input_metadata", "metadata", "saved_tensors", "_raw_saved_tensors", "to_save",
    "non_differentiable", "dirty_tensors", "needs_input_grad", "requires_grad", "_materialize_non_diff_grads"))


def no_node(function: Any, name: str) -> Exception:
    """Why an instance of a custom Function has no such attribute: those of nodes are on `grad_fn`."""
    if name not in _OF_NODES:
        return AttributeError(f"'{type(function).__name__}' object has no attribute '{name}'")
    return RuntimeError(f"Attribute '{name}' is invalid for this instance of _C._FunctionBase. Accessing this "
                        "attribute directly on an instance of autograd.Function is a legacy access pattern that is no "
                        "longer supported. For examples on how to use new-style autograd functions, see "
                        "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function ")
