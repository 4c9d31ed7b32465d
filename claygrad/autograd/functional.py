"""Derivatives of functions rather than of graphs: products with the Jacobian and the Hessian, and both in full.

Every function calls `func` on copies of the inputs that are cut from their history (with `create_graph=True`:
on aliases that keep it) and hands results back in the form it got them: a tensor for a tensor, a tuple for a tuple.
With `strict=True` an output, gradient or Hessian that does not depend on what it is differentiated by is an error
instead of zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.autograd._run import grad
from claygrad.autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from claygrad.core import Tensor
from claygrad.ops.fill import zeros_like
from claygrad.ops.join import stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Tensors = Tensor | tuple[Tensor, ...]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_NOT_STRICT = "This is not allowed in strict mode"


def vjp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """func(inputs), and the product of `v` (shaped as the output) with the Jacobian of func.

    >>> claygrad.autograd.functional.vjp(lambda x: x**2, claygrad.tensor([1.0, 2.0]), claygrad.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "vjp")
        given = _fresh(given, create_graph)
        outputs, several_out = _outputs(func, given, "vjp", strict)
        vectors = _vectors(v, outputs, several_out, "vjp", create_graph, "function returns")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        grads = _filled(
            _grads(outputs, given, vectors, create_graph),
            given,
            strict,
            create_graph,
            f"The output of the user-provided function is independent of input {{}}. {_NOT_STRICT}.",
            "jacobian",
        )
    return _as_given(_cut(outputs, create_graph), several_out), _as_given(_cut(grads, create_graph), several)


def jvp(
    func: Callable[..., Tensors],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensors, Tensors]:
    """func(inputs), and the product of the Jacobian of func with `v` (shaped as the inputs).

    Computed by differentiating twice, so it costs more than `vjp`.
    """
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "jvp")
        given = _fresh(given, create_graph)
        vectors = _vectors(v, given, several, "jvp", create_graph, "input")
        outputs, several_out = _outputs(func, given, "jvp", strict)
        # The gradient is linear in the vectors it starts from; its derivative by them is the Jacobian again.
        starts = tuple(zeros_like(out).requires_grad_() for out in outputs)
        grads = _grads(outputs, given, starts, create_graph=True)
        _check_depends(
            grads,
            strict,
            "The gradient with respect to input {} is independent of the inputs of the user-provided function. "
            f"{_NOT_STRICT}.",
        )
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = _filled(
            _grads(grads, starts, vectors, create_graph),
            outputs,
            strict,
            create_graph,
            "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the "
            f"double backward trick to compute forward mode gradients. {_NOT_STRICT}.",
            "jacobian",
        )
    return _as_given(_cut(outputs, create_graph), several_out), _as_given(_cut(products, create_graph), several_out)


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """For every tensor the rows of an identity matrix over all elements of all tensors that belong to it."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError("Expected tensors and tensor_numels to have the same length, but got "
                             f"{len(tensors)} and {len(tensor_numels)}")
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total, before, found = sum(tensor_numels), 0, []
    for tensor, n in zip(tensors, tensor_numels):
        chunk = tensor.new_zeros(total, n)
        chunk.diagonal(-before).fill_(1)
        found.append(chunk)
        before += n
    return tuple(found)


def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivative of each element of the output by each element of the inputs, shaped output + input.

    One backward pass per element of the output, with or without `vectorize`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "jacobian")
        given = _fresh(given, create_graph)
        outputs, several_out = _outputs(func, given, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        blocks = [_rows(i, out, given, create_graph, strict) for i, out in enumerate(outputs)]
    return _as_given(tuple(_as_given(_cut(row, create_graph), several) for row in blocks), several_out)


def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one output element, shaped input + input.

    >>> claygrad.autograd.functional.hessian(lambda v: (v**3).sum(), claygrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given, several = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*args: Tensor) -> Tensor:
        return _single_output(func, args, "hessian", strict).squeeze()

    def gradient(*args: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":           # of duals, which do not require grad
            args = tuple(x.requires_grad_() if x.is_leaf else x for x in args)
        grads = jacobian(scalar, args, create_graph=True)
        _check_depends(grads, strict, _FLAT_GRADIENT)
        return grads

    rows = jacobian(gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize,
                    strategy=outer_jacobian_strategy)
    return rows if several else rows[0][0]


def vhp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """func(inputs), and the product of `v` (shaped as the inputs) with the Hessian of func."""
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "vhp")
        given = _fresh(given, create_graph)
        vectors = _vectors(v, given, several, "vhp", create_graph, "input")
        output = _single_output(func, given, "vhp", strict)
        gradient = _grads((output,), given, None, create_graph=True)
        _check_depends(gradient, strict, _FLAT_GRADIENT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = _filled(
            _grads(gradient, given, vectors, create_graph),
            given,
            strict,
            create_graph,
            f"The jacobian of the user-provided function is independent of input {{}}. {_NOT_STRICT}.",
            "hessian",
        )
    return _cut((output,), create_graph)[0], _as_given(_cut(products, create_graph), several)


def hvp(
    func: Callable[..., Tensor],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Tensors]:
    """func(inputs), and the product of the Hessian of func with `v` (shaped as the inputs).

    `vhp` gives the same for less work, the Hessian of a smooth function being symmetric.
    """
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "hvp")
        given = _fresh(given, create_graph)
        vectors = _vectors(v, given, several, "hvp", create_graph, "input")
        output = _single_output(func, given, "hvp", strict)
        gradient = _grads((output,), given, None, create_graph=True)
        _check_depends(gradient, strict, _FLAT_GRADIENT)
        starts = tuple(zeros_like(x).requires_grad_() for x in given)
        second = _grads(gradient, given, starts, create_graph=True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = _filled(
            _grads(second, starts, vectors, create_graph),
            given,
            strict,
            create_graph,
            "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
            f"{_NOT_STRICT} as it prevents from using the double backward trick to replace forward mode AD.",
            "hessian",
        )
    return _cut((output,), create_graph)[0], _as_given(_cut(products, create_graph), several)


# ---- forms ----------------------------------------------------------------------------------------------------------


def _tensors(value: Any, what: str, name: str) -> tuple[tuple[Tensor, ...], bool]:
    """The value as a tuple of tensors, and whether it was one already."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, item in enumerate(values):
        if not isinstance(item, Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(item)}."
            )
    return values, several


def _as_given(values: tuple, several: bool) -> Any:
    return values if several else values[0]


def _fresh(tensors: tuple[Tensor, ...], create_graph: bool, requires_grad: bool = True) -> tuple[Tensor, ...]:
    """Tensors to differentiate by, apart from whatever else the caller's tensors take part in."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(requires_grad) for x in tensors
    )


def _cut(tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    return tuple(tensors) if create_graph else tuple(x.detach() for x in tensors)


def _vectors(
    v: Any, like: tuple[Tensor, ...], several: bool, name: str, create_graph: bool, owner: str
) -> tuple[Tensor, ...] | None:
    """The vectors of a product, checked against the tensors whose shapes they must have; None: a lone one."""
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return None
        whose = "input to the user-provided function is" if owner == "input" else "user-provided function returns"
        raise RuntimeError(f"The vector v can only be None if the {whose} a single Tensor with a single element.")
    vectors = _fresh(_tensors(v, "v", name)[0], create_graph, requires_grad=False)
    if len(vectors) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (vector, x) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != x.shape:
            where = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{where}v has invalid size: should be {x.shape} but got {vector.shape}.")
    return vectors


# ---- derivatives ----------------------------------------------------------------------------------------------------


def _outputs(func: Callable, args: Sequence[Tensor], name: str, strict: bool) -> tuple[tuple[Tensor, ...], bool]:
    outputs, several = _tensors(func(*args), "outputs of the user-provided function", name)
    _check_depends(
        outputs,
        strict,
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode.",
    )
    return outputs, several


def _single_output(func: Callable, args: Sequence[Tensor], name: str, strict: bool) -> Tensor:
    outputs, several = _outputs(func, args, name, strict)
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0]


def _grads(
    outputs: Sequence[Tensor | None],
    inputs: tuple[Tensor, ...],
    vectors: tuple[Tensor, ...] | None,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """As `autograd.grad`, but outputs without a history count for nothing."""
    pairs = list(zip(outputs, vectors or [None] * len(outputs), strict=True))
    pairs = [(out, v) for out, v in pairs if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True)


def _rows(number: int, out: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> list[Tensor]:
    """The Jacobian of one output by every input."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for element in out.reshape(-1):
        grads = _grads((element,), inputs, None, create_graph, retain_graph=True)
        for i, (column, g, x) in enumerate(zip(columns, grads, inputs, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function is independent of input {i}. {_NOT_STRICT}."
                    )
                column.append(zeros_like(x))
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(_flat("jacobian", i))
            else:
                column.append(g)
    return [stack(column).view(out.shape + x.shape) for column, x in zip(columns, inputs, strict=True)]


def _filled(
    grads: tuple[Tensor | None, ...],
    like: tuple[Tensor, ...],
    strict: bool,
    create_graph: bool,
    absent: str,
    order: str,
) -> tuple[Tensor, ...]:
    """The gradients with zeros for those that are not there; in strict mode an error says which and why."""
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(absent.format(i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(_flat(order, i))
    return tuple(zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))


def _flat(order: str, i: int) -> str:
    return (
        f"The {order} of the user-provided function is independent of input {i}. {_NOT_STRICT} when create_graph=True."
    )


_FLAT_GRADIENT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    f"independent of the input. {_NOT_STRICT}. You should ensure that your function is twice differentiable and that "
    "the jacobian depends on the inputs (this would be violated by a linear function for example)."
)


def _check_depends(tensors: Sequence[Tensor | None], strict: bool, flat: str) -> None:
    """In strict mode, every one of the tensors must depend on the inputs."""
    if not strict:
        return
    for i, x in enumerate(tensors):
        if x is None:
            raise RuntimeError(f"The output of the user-provided function is independent of input {i}. {_NOT_STRICT}.")
        if not x.requires_grad:
            raise RuntimeError(flat.format(i))


def _forward_jacobian(
    func: Callable[..., Tensors], inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    """The Jacobian in forward mode: a column, of all outputs, for each element of the inputs."""
    from claygrad.autograd.forward_ad import dual_level, make_dual, unpack_dual  # loaded where it is used

    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            "together (yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`."
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    with enable_grad():
        given, several = _tensors(inputs, "inputs", "jacobian")
        given = tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach() for x in given)
        columns: list[tuple[tuple[Tensor, ...], list[Tensor]]] = []
        several_out = False
        outputs: tuple[Tensor, ...] = ()
        for k, x in enumerate(given):
            for i in range(x.numel()):
                step = zeros_like(x).detach().contiguous()
                step.view(-1)[i] = 1
                with dual_level():
                    duals = [make_dual(y, step if j == k else zeros_like(y).detach()) for j, y in enumerate(given)]
                    found, several_out = _tensors(func(*duals), "outputs of the user-provided function", "jacobian")
                    pairs = [unpack_dual(out) for out in found]
                outputs = tuple(pair.primal for pair in pairs)
                columns.append((outputs, [zeros_like(pair.primal).detach() if pair.tangent is None else pair.tangent
                                          for pair in pairs]))
        if not columns:
            outputs, several_out = _outputs(func, given, "jacobian", strict)
        blocks = []
        for n, out in enumerate(outputs):
            row, start = [], 0
            for x in given:
                part = [tangents[n] for _, tangents in columns[start:start + x.numel()]]
                start += x.numel()
                shape = (*x.shape, *out.shape)
                turned = stack(part).view(shape) if part else out.new_zeros(shape)
                row.append(turned.permute((*range(x.ndim, len(shape)), *range(x.ndim))))
            blocks.append(row)
    return _as_given(tuple(_as_given(_cut(row, create_graph), several) for row in blocks), several_out)
