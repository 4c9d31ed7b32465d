"""`backward` and `grad`: what they take, checked, and handed to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from claygrad.autograd.graph import GradientEdge
from claygrad.core import UPCALLS, Size, Tensor, is_wrapper, prefix
from claygrad.core.graph.engine import one_like, run_backward
from claygrad.core.graph.intercept import get_batches
from claygrad.core.overrides import hand, overriding_of
from claygrad.core.user_warnings import warn, warn_once
from claygrad.ops.fill import ones, ones_like, zeros_like

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claygrad.core import device, dtype

    Root = Tensor | GradientEdge
    Roots = Root | Sequence[Root]
    Seeds = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Roots,
    grad_tensors: Seeds = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Seeds = None,
    inputs: Roots | dict[str, Tensor] | None = None,
) -> None:
    """Adds to the `.grad` of every leaf (or of `inputs` alone) the gradient of the tensors.

    A tensor with more than one element needs its own gradient in `grad_tensors`, of the same shape.
    """
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    targets = None if inputs is None else _inputs(inputs, "backward")
    roots = _roots(tensors)
    asked = (*roots, *(targets or ()))
    found = overriding_of(asked)
    if found is not None:
        return _handed_over(backward, found, asked, (roots,), grad_tensors=grad_tensors, retain_graph=retain_graph,
                            create_graph=create_graph, inputs=targets)
    seeds = _seeds(roots, grad_tensors)
    if create_graph:
        _warn_of_cycles()
    run_backward(
        roots, seeds, create_graph if retain_graph is None else retain_graph, create_graph, targets, True, True
    )
    return None


@overload
def grad(
    outputs: Roots,
    inputs: Roots,
    grad_outputs: Seeds = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor, ...]: ...


@overload
def grad(
    outputs: Roots,
    inputs: dict[str, Tensor],
    grad_outputs: Seeds = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> dict[str, Tensor]: ...


def grad(
    outputs: Roots,
    inputs: Roots | dict[str, Tensor],
    grad_outputs: Seeds = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the outputs with respect to the inputs, leaving every `.grad` as it is.

    >>> x = claygrad.tensor([1.0, 2.0], requires_grad=True)
    >>> claygrad.autograd.grad((x * x).sum(), x)
    (tensor([2., 4.]),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    roots = _roots(outputs)
    targets = _inputs(inputs, "grad")
    overriding = overriding_of((*roots, *targets))
    if overriding is not None:
        return _handed_over(grad, overriding, (*roots, *targets), (roots, targets), grad_outputs=grad_outputs,
                            retain_graph=retain_graph, create_graph=create_graph, only_inputs=only_inputs,
                            allow_unused=allow_unused, is_grads_batched=is_grads_batched,
                            materialize_grads=materialize_grads)
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning
        )
    if retain_graph is None:
        retain_graph = create_graph
    seeds = _seeds(roots, grad_outputs, is_grads_batched)
    if is_grads_batched:
        result = _batched(roots, seeds, retain_graph, create_graph, targets, allow_unused)
    else:
        found = _batched_backward(roots, seeds, retain_graph, create_graph, targets, allow_unused)
        result = found if found is not None else run_backward(roots, seeds, retain_graph, create_graph, targets,
                                                              allow_unused, False)
    if materialize_grads:
        result = tuple(_zeros(x, create_graph) if g is None else g for g, x in zip(result, targets, strict=True))
    return dict(zip(inputs, result, strict=True)) if type(inputs) is dict else result


def _batched_backward(roots: tuple[Root, ...], seeds: list[Tensor | None], retain_graph: bool, create_graph: bool,
                      targets: tuple[Root, ...], allow_unused: bool) -> tuple[Tensor | None, ...] | None:
    """Gradients inside vmap, where tensors stand for batches; None elsewhere."""
    if not get_batches() or not any(type(x) is not Tensor for x in (*roots, *targets)):
        return None
    found: tuple[Tensor | None, ...] | None = UPCALLS["batched_backward"](
        run_backward, roots, seeds, retain_graph, create_graph, targets, allow_unused)
    return found


def _handed_over(function: Any, found: list[Any], asked: tuple[Root, ...], args: tuple[Any, ...], **kwargs: Any) -> Any:
    """What `__torch_function__` of an argument, or a mode, answers in its place."""
    return hand(function, found, asked, args, kwargs, _nobody_answers)


def _nobody_answers(function: Any, types: tuple[type, ...]) -> str:
    return (f"no implementation found for '{function.__module__}.{function.__name__}' on types that implement "
            f"__torch_function__: {list(types)}")


def _roots(tensors: Any) -> tuple[Root, ...]:
    if isinstance(tensors, (Tensor, GradientEdge)):
        return (tensors,)
    roots = tuple(tensors)
    for root in roots:
        if not isinstance(root, (Tensor, GradientEdge)):
            raise AssertionError(f"Expected output to be a {prefix()}.Tensor\n  but got {type(root).__name__}")
    return roots


def _inputs(inputs: Any, name: str) -> tuple[Root, ...]:
    if isinstance(inputs, (Tensor, GradientEdge)):
        return (inputs,)
    if hasattr(inputs, "keys") and type(inputs) is not dict:
        kind = type(inputs).__name__
        raise TypeError(
            f"`inputs` argument to `{name}()` must be a dict, not {kind}. Other Mapping types are not supported."
        )
    targets = tuple(inputs.values()) if type(inputs) is dict else tuple(inputs)
    if not targets:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    for target in targets:
        if not isinstance(target, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}")
    return targets


def _warn_of_cycles() -> None:
    warn_once(
        "create_graph",
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.",
    )


# ---- the gradients that a backward pass starts from -----------------------------------------------------------------


def _seeds(roots: tuple[Root, ...], grads: Any, batched: bool = False) -> list[Tensor | None]:
    """One gradient per root: the one given, or 1 for a single element."""
    if grads is None:
        return [_one(root) for root in roots]
    grads = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    seeds = [_seed(i, root, g, batched) for i, (root, g) in enumerate(zip(roots, grads, strict=False))]
    if len(seeds) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(seeds)} gradients")
    return seeds


def _seed(i: int, root: Root, g: Tensor | None, batched: bool) -> Tensor | None:
    if g is None:
        return _one(root)
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    shape, dtype, _ = _form(root)
    if batched:
        _check_batch(i, root, shape, g)
    elif g.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
            f"{Size(shape)}.{_origin(root)}"
        )
    if dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {dtype}.{_origin(root)}"
        )
    return g


def _one(root: Root) -> Tensor | None:
    if isinstance(root, Tensor):
        if get_batches() and is_wrapper(root) and root.numel() == 1:
            return ones_like(root)
        return one_like(root) if root.requires_grad else None  # the engine says what is wrong with it
    shape, dtype, device = _form(root)
    if Size(shape).numel() != 1:
        raise RuntimeError(f"grad can be implicitly created only for scalar outputs{_origin(root)}")
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {dtype}{_origin(root)}"
        )
    return ones(shape, dtype=dtype, device=device)


def _form(root: Root) -> tuple[Sequence[int], dtype, device]:
    """Shape, dtype and device of the gradient that the root takes."""
    if isinstance(root, GradientEdge):
        return root.node._input_metadata[root.output_nr][:3]
    return root.shape, root.dtype, root.device


def _origin(root: Root) -> str:
    """A line for an error message: where the root was computed."""
    node = root.node if isinstance(root, GradientEdge) else root.grad_fn
    if node is None or node.origin is None:
        return ""
    file, line, function, source = node.origin
    return f"\n  made at {file}:{line}, in {function}" + (f": {source}" if source else "")


# ---- many gradients at once -----------------------------------------------------------------------------------------


def _check_batch(i: int, root: Root, shape: Sequence[int], g: Tensor) -> None:
    if isinstance(root, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    rest = g[0].shape
    if rest != shape:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{i}] has a shape of {rest} and output[{i}] has a shape of {shape}. If "
            "you only want some tensors in `grad_output` to be considered batched, consider using vmap."
        )


def _batched(
    roots: tuple[Root, ...],
    seeds: list[Tensor | None],
    retain_graph: bool,
    create_graph: bool,
    targets: tuple[Root, ...],
    allow_unused: bool,
) -> tuple[Tensor | None, ...]:
    """One backward pass for all rows of the seeds, as `vmap` does it."""
    batches = [g for g in seeds if g is not None and g.ndim > 0]
    if len(batches) != len(roots):
        raise ValueError("is_grads_batched=True: every output needs a grad_output with a batch dimension")
    sizes = [g.shape[0] for g in batches]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    UPCALLS["vmap_module"]()
    found: tuple[Tensor | None, ...] = UPCALLS["backward_of_seeds"](run_backward, roots, batches, retain_graph,
                                                                    create_graph, targets, allow_unused)
    return found


def _zeros(x: Root, create_graph: bool) -> Tensor:
    if isinstance(x, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return zeros_like(x).requires_grad_(create_graph)
