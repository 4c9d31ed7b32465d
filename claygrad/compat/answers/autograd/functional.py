"""Private names of `torch.autograd.functional` that packages with derivatives of their own are made of."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claygrad.autograd import functional, grad
from claygrad.core import Tensor

_STRICT = "This is not allowed in strict mode."
_WITHOUT_HISTORY = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
               "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. "
                   f"{_STRICT}",
    "jacobian": functional._FLAT_GRADIENT,
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. "
               f"{_STRICT} You should ensure that your function is thrice differentiable and that the hessian depends "
               "on the inputs.",
}


def _as_tuple_nocheck(x: Any) -> tuple[Any, ...]:
    """One value or several as a tuple."""
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """Whether there are several tensors, and all of them; an error names the argument and the function, without which
    nothing is checked and said."""
    if arg_name is None and fn_name is None:
        return _as_tuple_nocheck(inp)
    values, several = functional._tensors(inp, str(arg_name), str(fn_name))
    return several, values


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """Results as they were given: a lone one without its tuple, on one level or on two."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple(part[0] for part in res)
    return res if outer else res[0]


_grad_preprocess = functional._fresh


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results, cut from the graph unless it is wanted; trees of them too."""
    if isinstance(inputs[0], Tensor):
        return inputs if create_graph else tuple(x.detach() for x in inputs)
    return tuple(_grad_postprocess(x, create_graph) for x in inputs)


def _validate_v(v: Sequence[Tensor], other: Sequence[Tensor], is_other_tuple: bool) -> None:
    """The vectors of a product have the shapes of the tensors that they are for."""
    functional._vectors(tuple(v), tuple(other), is_other_tuple, "_validate_v", False, "input")


def _check_requires_grad(inputs: Any, input_type: str, strict: bool) -> None:
    """In strict mode all of them have a history; the text names what they are."""
    if not strict:
        return
    if input_type not in ("outputs", "grad_inputs", "jacobian", "hessian"):
        raise RuntimeError("Invalid input_type to _check_requires_grad")
    for number, x in enumerate(inputs):
        if x is None:
            raise RuntimeError("The output of the user-provided function is independent of input "
                               f"{number}. This is not allowed in strict mode.")
        if x.requires_grad:
            continue
        raise RuntimeError(_WITHOUT_HISTORY[input_type].format(number))


def _autograd_grad(outputs: Any, inputs: tuple[Tensor, ...], grad_outputs: Any = None, create_graph: bool = False,
                   retain_graph: bool | None = None, is_grads_batched: bool = False) -> tuple[Tensor | None, ...]:
    """As `autograd.grad`, but outputs without a history count for nothing."""
    vectors = grad_outputs or (None,) * len(outputs)
    pairs = [(out, v) for out, v in zip(outputs, vectors, strict=True) if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True,
                is_grads_batched=is_grads_batched)


def _fill_in_zeros(grads: Any, refs: Any, strict: bool, create_graph: bool, stage: str) -> tuple[Any, ...]:
    """Zeros for the gradients that are not there."""
    if stage not in ("back", "back_trick", "double_back", "double_back_trick"):
        raise RuntimeError(f"Invalid stage argument '{stage}' to _fill_in_zeros")
    if strict and any(g is None for g in grads):
        raise RuntimeError(f"The output of the user-provided function is independent of an input. {_STRICT}")
    return tuple(ref.new_zeros(ref.shape) if g is None else g for g, ref in zip(grads, refs, strict=True))
