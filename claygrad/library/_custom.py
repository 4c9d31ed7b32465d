"""`torch.library.custom_op`: operators written in Python, with kernels, shapes and gradients of their own."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from claygrad.autograd import no_grad
from claygrad.autograd.grad_mode import is_grad_enabled
from claygrad.core import UPCALLS, Tensor
from claygrad.core.graph.function import Function
from claygrad.core.graph.intercept import get_batches
from claygrad.library._operators import OpOverload, ops
from claygrad.library._schema import FunctionSchema, infer_schema, parse_schema
from claygrad.utils import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OPERATORS: dict[str, Operator] = {}
WAITING: dict[str, list[Callable[[Operator], None]]] = {}      # kernels that came before their operator


def bind(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str,
                                                                                                               Any]]:
    """The arguments of a call in the schema's order, with defaults; PyTorch's errors where they do not fit."""
    name = schema.name
    positional = [one for one in schema.arguments if not one.kwarg_only]
    if len(args) > len(positional):
        told = (f"{name}() takes {len(positional)} positional argument(s) but {len(args)} was/were given. "
                if len(positional) < len(schema.arguments) else
                f"{name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s).")
        raise RuntimeError(f"{told} Declaration: {schema}")
    given = dict(zip((one.name for one in positional), args))
    for key, value in kwargs.items():
        if all(key != one.name for one in schema.arguments):
            raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {schema}")
        if key in given:
            raise RuntimeError(f"{name}() got multiple values for argument '{key}'. Declaration: {schema}")
        given[key] = value
    for order, one in enumerate(schema.arguments):
        if one.name not in given:
            if not one.has_default:
                raise RuntimeError(f"{name}() is missing value for argument '{one.name}'. Declaration: {schema}")
            given[one.name] = one.default_value
        elif not _fits(one.type, given[one.name]):
            value = given[one.name]
            raise RuntimeError(f"{name}() Expected a value of type '{one.type}' for argument '{one.name}' but "
                               f"instead found "
                               f"type '{type(value).__name__}'.\nPosition: {order}\nValue: {value!r}\nDeclaration: "
                               f"{schema}")
    return (tuple(given[one.name] for one in positional),
            {one.name: given[one.name] for one in schema.arguments if one.kwarg_only})


def _fits(kind: str, value: Any) -> bool:
    """Whether a value can be one of a schema's type."""
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value)
    if kind.endswith("]"):
        inner = kind[:kind.rindex("[")]
        if isinstance(value, list | tuple):
            return all(_fits(inner, one) for one in value)
        return not inner.startswith("Tensor") and _fits(inner, value)
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind in ("int", "SymInt"):
        return hasattr(value, "__index__") and not isinstance(value, bool | str)
    if kind in ("float", "Scalar"):
        return isinstance(value, int | float | complex | Tensor) or hasattr(value, "__float__")
    if kind == "bool":
        return isinstance(value, bool | int)
    if kind == "str":
        return isinstance(value, str)
    return True


class Operator:
    """An operator of a library: its schema and what runs it, by kind of device and of dispatch."""

    def __init__(self, schema: FunctionSchema) -> None:
        self.schema = schema
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.gradient: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self.batched: Callable[..., Any] | None = None
        self.below_autograd = False
        space, name = schema.name.split("::")
        self.overload: OpOverload = ops.namespace(space).packet(name).add(schema.overload_name, self, schema)
        OPERATORS[self.overload._name] = self
        for change in WAITING.pop(self.overload._name, ()):
            change(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = bind(self.schema, args, kwargs)
        if get_batches():
            answer = UPCALLS["batched_operator"](self, self.batched, self.overload._name,
                                                 self._as_written(args), kwargs)
            if answer is not None:
                return answer[0]
        tensors = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        if is_grad_enabled() and any(one.requires_grad for one in tensors):
            own = self.kernels.get("AutogradCPU") or self.kernels.get("Autograd")
            if own is not None:
                return own(*args, **kwargs)
            if self.gradient is not None or self.below_autograd:
                return _record(self, args, kwargs)
        return self.run(tensors, args, kwargs)

    def _as_written(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments without the last ones that are at their defaults."""
        positional = [one for one in self.schema.arguments if not one.kwarg_only]
        count = len(args)
        while count and positional[count - 1].has_default and args[count - 1] is positional[count - 1].default_value:
            count -= 1
        return args[:count]

    def run(self, tensors: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the kernel for these tensors."""
        kernel = self._kernel("meta" if any(one.device.type == "meta" for one in tensors) else "cpu")
        if not self.below_autograd:
            return kernel(*args, **kwargs)
        with no_grad():
            result = kernel(*args, **kwargs)
        if not self.schema.is_mutable:
            _check_no_alias(self.schema.name, tensors, result)
        return result

    def _kernel(self, where: str) -> Callable[..., Any]:
        composite = self.kernels.get("CompositeImplicitAutograd")
        if where == "meta":
            kernel = self.fake or self.kernels.get("Meta") or composite
            if kernel is None:
                raise RuntimeError(f"There was no fake impl registered for <CustomOpDef({self.schema.name})>. This is "
                                   "necessary for torch.compile/export/fx tracing to work. Please use "
                                   f"`{self.schema.name.split('::')[1]}.register_fake` to add an fake impl.")
            return kernel
        kernel = self.kernels.get("CPU") or self.kernels.get("CompositeExplicitAutograd") or composite
        if kernel is None:
            raise NotImplementedError(f"Could not run '{self.overload._name}' with arguments from the 'CPU' "
                                      f"backend.\n  No "
                                      "kernel was registered for it: Library.impl, or register_kernel, adds one.")
        return kernel


def _check_no_alias(name: str, tensors: list[Tensor], result: Any) -> None:
    places = {one.untyped_storage().data_ptr() for one in tensors if one.numel() and one.device.type == "cpu"}
    for one in pytree.tree_leaves(result):
        if isinstance(one, Tensor) and one.numel() and one.device.type == "cpu":
            place = one.untyped_storage().data_ptr()
            if place in places:
                raise RuntimeError(
                    f"{name.split('::')[1]}: The output of this custom operator (1) must not also be an input to "
                    f"this custom "
                    "operator and (2) may not alias any inputs to this custom operator or other returns. The most "
                    "common "
                    "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
                    "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                    "custom operator to not return y.")
            places.add(place)


class _Recorded(Function):
    """A call of an operator in a graph: its leaves go in, what the backward function returns is laid out like them."""

    @staticmethod
    def forward(ctx: Any, call: Any, *leaves: Any) -> Any:
        operator, spec = ctx._operator_call = call
        args, kwargs = pytree.tree_unflatten(list(leaves), spec)
        result = operator.run([one for one in leaves if isinstance(one, Tensor)], args, kwargs)
        if operator.gradient is not None and operator.gradient[1] is not None:
            seen = _Context(ctx, spec)
            if kwargs:
                operator.gradient[1](ctx=seen, inputs=args, keyword_only_inputs=kwargs, output=result)
            else:
                operator.gradient[1](ctx=seen, inputs=args, output=result)
        return tuple(result) if isinstance(result, list) else result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        operator, spec = ctx._operator_call
        if operator.gradient is None:
            raise RuntimeError(f"Trying to backward through {operator.overload} but no autograd formula was "
                               f"registered. "
                               "Please use register_autograd to add one.")
        given = operator.gradient[0](_Context(ctx, spec), *_like_results(operator.schema, grads))
        given = given if isinstance(given, tuple) else (given,)
        arguments = spec.child(0).children()
        if len(given) != len(arguments):
            raise RuntimeError("Expected the return from backward to be of the same structure as the inputs. Got: "
                               f"{len(given)} gradients for the {len(arguments)} inputs of {operator.overload}.")
        leaves: list[Any] = []
        for one, argument in zip(given, arguments):
            if argument.is_leaf():
                leaves.append(one if isinstance(one, Tensor) else None)
            else:
                leaves += [None] * argument.num_leaves if one is None else list(one)
        return (None, *leaves, *[None] * spec.child(1).num_leaves)


def _like_results(schema: FunctionSchema, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients as the operator's results: one list where it returns a list."""
    if len(schema.returns) == 1 and schema.returns[0].type == "Tensor[]":
        return (list(grads),)
    return grads


class _Context:
    """The context of a gradient, whose `needs_input_grad` is laid out like the arguments."""

    def __init__(self, ctx: Any, spec: Any) -> None:
        needs = pytree.tree_unflatten(list(ctx.needs_input_grad[1:]), spec)[0]
        self.__dict__.update(_ctx=ctx, needs_input_grad=needs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_ctx"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_ctx"], name, value)


def _record(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, spec = pytree.tree_flatten((args, kwargs))
    result = _Recorded.apply((operator, spec), *leaves)
    if len(operator.schema.returns) == 1 and operator.schema.returns[0].type.endswith("[]"):
        return list(result)
    return result


class CustomOpDef:
    """What `custom_op` makes of a function: a function to call, and places to register what belongs to it."""

    def __init__(self, operator: Operator, fn: Callable[..., Any]) -> None:
        self._operator = operator
        self._init_fn = fn
        self._qualname = operator.schema.name
        self._namespace, self._name = self._qualname.split("::")
        self._opoverload = operator.overload
        self._schema = operator.schema.text.partition("::")[2].removeprefix(self._name)
        self.__name__ = getattr(fn, "__name__", self._name)
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__wrapped__ = fn
        self.__signature__ = inspect.signature(fn)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function that gives shapes and dtypes, for tensors on device meta."""
        self._operator.fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """The gradient: `backward(ctx, *grads)`, and `setup_context(ctx, inputs, output)` to save what it needs."""
        if self._operator.schema.is_mutable:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self} with schema "
                               f"{self._operator.schema}. Please create a functional operator and register an autograd "
                               "formula for that.")
        self._operator.gradient = backward, setup_context

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """The function for some kinds of devices."""
        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            for key in _keys(device_types):
                self._operator.kernels[key] = fn
            return fn

        return register if fn is None else register(fn)

    def register_vmap(self, func: Any = None) -> Any:
        """The function for batches, which `vmap` calls: func(info, in_dims, *args) gives the output and out_dims."""
        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._operator.batched = fn
            return fn

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Refused: classes that take over operations below autograd are not there."""
        raise NotImplementedError("CustomOpDef.register_torch_dispatch: claygrad has no __torch_dispatch__;\n"
                                  "  instead: use __torch_function__")


def _keys(device_types: Any) -> Iterable[str]:
    if device_types is None:
        return ("CompositeExplicitAutograd",)
    kinds = (device_types,) if isinstance(device_types, str) else tuple(device_types)
    return tuple(kind.upper() if kind != "meta" else "Meta" for kind in kinds)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """`custom_op` for functions that call kernels of Triton, which PyTorch's compiler looks into; nothing here does."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel of Triton as it is: nothing is traced."""
    return triton_kernel


def custom_op(name: str, fn: Any = None, /, *, mutates_args: Any, device_types: Any = None, schema: str | None = None,
              tags: Any = None) -> Any:
    """Make a function an operator, `torch.ops.<namespace>.<name>`; PyTorch's graph treats it as one piece."""
    def make(fn: Callable[..., Any]) -> CustomOpDef:
        space, separator, last = name.partition("::")
        if not separator or not space or not last:
            raise ValueError(f"not enough values to unpack (expected 2, got 1)\n  an operator's name is "
                             f"namespace::name, "
                             f"got {name!r}")
        text = schema if schema is not None else infer_schema(fn, mutates_args=mutates_args)
        operator = Operator(parse_schema(f"{space}::{last}{text}"))
        operator.below_autograd = True
        made = CustomOpDef(operator, fn)
        made.register_kernel(device_types, fn)
        return made

    return make if fn is None else make(fn)


def operator_of(op: Any) -> Operator:
    """The operator that a name, an overload or a definition means."""
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, OpOverload):
        op = op._name
    name = str(op).removesuffix(".default")
    if name not in OPERATORS:
        raise RuntimeError(f"operator {name} does not exist")
    return OPERATORS[name]
