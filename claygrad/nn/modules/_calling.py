"""Calling a module: its hooks, and the way through them to its forward."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from claygrad.core import Node, Tensor
from claygrad.core.graph.handles import RemovableHandle
from claygrad.core.graph.module_call import Running
from claygrad.core.user_warnings import warn
from claygrad.nn.modules import _hooks
from claygrad.nn.modules._hooks import (
    _BOTH_KINDS,
    BackwardHook,
    ForwardHook,
    ForwardPreHook,
    Hook,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _WrappedHook,
)

# The hooks of a call: the name of a module's own dict, and the dict of the global hooks. A call with any hook goes
# through `_Call`; one without goes straight to forward, in C (core/cpython/module_call.h). A new kind of hook is a line
# here, a method that registers it, and a line in `_Call`: modules get the dict, and native calls check it.
CALL_HOOKS: dict[str, dict[int, Hook]] = {
    "_backward_hooks": _global_backward_hooks,
    "_backward_pre_hooks": _global_backward_pre_hooks,
    "_forward_hooks": _global_forward_hooks,
    "_forward_pre_hooks": _global_forward_pre_hooks,
}

_Given = ParamSpec("_Given")
_Result_co = TypeVar("_Result_co", covariant=True)


class _HasForward(Protocol[_Given, _Result_co]):
    """What type checkers know of a module that is called: its forward says what it takes and gives."""

    def forward(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result_co: ...


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Calling:
    """The part of `Module` that runs forward, and what has been hung before and behind it."""

    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _compiled_call_impl: Callable[..., Any] | None = None

    forward: Callable[..., Any] = _forward_unimplemented

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        with Running(self):
            for name, for_all in CALL_HOOKS.items():
                if getattr(self, name) or for_all:
                    return _Call(self, args, kwargs).run()
            return self.forward(*args, **kwargs)

    if TYPE_CHECKING:
        def __call__(self: _HasForward[_Given, _Result_co], *args: _Given.args,
                     **kwargs: _Given.kwargs) -> _Result_co: ...
    else:
        __call__: Callable[..., Any] = _wrapped_call_impl

    # --- registering -------------------------------------------------------------------------------------------
    def register_forward_pre_hook(self, hook: ForwardPreHook, *, prepend: bool = False, with_kwargs: bool = False
                                  ) -> RemovableHandle:
        """Call `hook(module, args)` before every forward; what it returns replaces the positional arguments.

        `with_kwargs`: `hook(module, args, kwargs)`, which may return both; `prepend`: before the hooks already there.
        """
        handle = RemovableHandle(self._forward_pre_hooks, hook, extra_dict=self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(self, hook: ForwardHook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after every forward; what it returns replaces the output.

        `with_kwargs`: `hook(module, args, kwargs, output)`; `always_call`: even if forward fails; `prepend`: before the
        hooks already there.
        """
        handle = RemovableHandle(self._forward_hooks, hook, extra_dict=[self._forward_hooks_with_kwargs,
                                                                        self._forward_hooks_always_called])
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the output are known; it may return others."""
        handle = RemovableHandle(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        It may return others in place of grad_input.
        """
        _choose_kind_of_backward_hooks(self, full=True)
        handle = RemovableHandle(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: call `hook(module, grad_input, grad_output)` at the node of the output alone."""
        _choose_kind_of_backward_hooks(self, full=False)
        return RemovableHandle(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """Those of the full kind, and those of the old one; hooks of all modules come first."""
        found: dict[bool | None, list[Hook]] = {True: [], False: [], None: []}
        found[_hooks._global_is_full_backward_hook].extend(_global_backward_hooks.values())
        found[self._is_full_backward_hook].extend(self._backward_hooks.values())
        return found[True], found[False]

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


def _choose_kind_of_backward_hooks(module: Calling, full: bool) -> None:
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(_BOTH_KINDS.format("on a single Module"))
    module._is_full_backward_hook = full


class _Call:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()       # of those that are called even if forward fails

    def run(self) -> Any:
        try:
            full, old = self.module._get_backward_hooks()
            pre = self.module._get_backward_pre_hooks()
            self._before()
            gates = BackwardHook(self.module, full, pre) if full or pre else None
            if gates is not None:
                self.args = gates.setup_input_hook(self.args)
            self.result = self.module.forward(*self.args, **self.kwargs)
            self._after()
            if gates is not None:
                if not isinstance(self.result, (Tensor, tuple)):
                    warn("For backward hooks to be called, module output should be a Tensor or a tuple of "
                         f"Tensors but received {type(self.result)}")
                self.result = gates.setup_output_hook(self.result)
            if old:
                self._hang_old_hooks(old)
            return self.result
        except Exception:
            self._despite_failure()
            raise

    def _before(self) -> None:
        module = self.module
        for number, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if number not in module._forward_pre_hooks_with_kwargs:
                out = hook(module, self.args)
                if out is not None:
                    self.args = out if isinstance(out, tuple) else (out,)
                continue
            out = hook(module, self.args, self.kwargs)
            if out is not None:
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {out}.")
                self.args, self.kwargs = out

    def _after(self) -> None:
        for number, hook in (*_global_forward_hooks.items(), *self.module._forward_hooks.items()):
            if self._always(number):
                self.called.add(number)
            self._call(number, hook)

    def _call(self, number: int, hook: Hook) -> None:
        with_kwargs = (number in self.module._forward_hooks_with_kwargs
                       or number in _global_forward_hooks_with_kwargs)
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        out = hook(self.module, *given, self.result)
        if out is not None:
            self.result = out

    def _always(self, number: int) -> bool:
        return number in self.module._forward_hooks_always_called or number in _global_forward_hooks_always_called

    def _despite_failure(self) -> None:
        for kind, hooks in (("global module", _global_forward_hooks), ("module", self.module._forward_hooks)):
            for number, hook in hooks.items():
                if not self._always(number) or number in self.called:
                    continue
                try:
                    self._call(number, hook)
                except Exception as failure:
                    warn(f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                         f"silenced as another error was raised in forward: {failure}")

    def _hang_old_hooks(self, hooks: list[Hook]) -> None:
        first = self.result
        while not isinstance(first, Tensor):
            if isinstance(first, dict):
                first = next(value for value in first.values() if isinstance(value, Tensor))
            else:
                first = first[0]
        node = first.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(_WrappedHook(hook, self.module))
            text = _what_old_hooks_miss(self.args, self.result, node)
            if text is not None:
                warn(text, FutureWarning)


def _what_old_hooks_miss(args: Any, result: Any, node: Node) -> str | None:
    """Why hooks on the node of one output do not see all gradients of a module, if they do not."""
    shape = ("Using non-full backward hooks on a Module that does not {} a single Tensor or a tuple of Tensors is "
             "deprecated and will be removed in future versions. This hook will be missing some of the {}. Please use "
             "register_full_backward_hook to get the documented behavior.")
    parts = ("Using a non-full backward hook when {} is deprecated and will be removed in future versions. This hook "
             "will be missing some {}.")
    full = " Please use register_full_backward_hook to get the documented behavior."
    outs = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(outs, tuple) and all(isinstance(out, Tensor) for out in outs)):
        return shape.format("return", "grad_output")
    if not all(isinstance(arg, Tensor) for arg in args):
        return shape.format("take as input", "grad_input")
    nodes = {out.grad_fn for out in outs if out.grad_fn is not None}
    if len(nodes) > 1:
        return parts.format("outputs are generated by different autograd Nodes", "grad_output") + full
    if node not in nodes:
        return parts.format("outputs are nested in python data structure", "grad_output")
    if {arg.grad_fn for arg in args if arg.grad_fn is not None} != {before for before, _ in node.next_functions}:
        return parts.format("the forward contains multiple autograd Nodes", "grad_input") + full
    return None
