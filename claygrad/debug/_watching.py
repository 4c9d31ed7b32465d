"""What happens in one training step: functions that are called, modules that run, gradients, optimizer steps."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import is_grad_enabled, no_grad
from claygrad.core import Tensor
from claygrad.core.graph.memory_holders import own_grad
from claygrad.debug._names import user_frames
from claygrad.debug._places import Line, line_at
from claygrad.nn import Linear, Module
from claygrad.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from claygrad.optim import Optimizer
from claygrad.optim.optimizer import register_optimizer_step_post_hook
from claygrad.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

# Functions that give another shape to the same values.
RESHAPING = {
    "view",
    "reshape",
    "squeeze",
    "unsqueeze",
    "flatten",
    "contiguous",
    "view_as",
    "reshape_as",
    "transpose",
    "permute",
    "clone",
}
CUTTING = {
    "detach",
    "item",
    "tolist",
    "numpy",
    "argmax",
    "argmin",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "long",
    "int",
    "bool",
    "data",
}
ONE_UNIT = "one unit"
LEAST_SAMPLES, LEAST_DEAD = 16, 0.9  # from which on units that are 0 are told


@dataclass(frozen=True)
class Call:
    """One call of a function that a rule asks for."""

    name: str
    args: tuple[Any, ...]  # shapes, tags and numbers; no tensors, which would stay alive
    where: Line | None


def here() -> Line | None:
    """The line of the program that runs."""
    return next((line_at((frame.f_code, frame.f_lasti)) for frame in user_frames()), None)


class Watch(TorchFunctionMode):
    """A context that notes what the rules of `check` ask for."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.model = model
        self.calls: list[Call] = []
        self.cuts: list[Call] = []
        self.ran: dict[int, Line | None] = {}  # modules
        self.modes: dict[int, bool] = {}  # of those that behave otherwise in training
        self.backwards: list[Line | None] = []
        self.arrived: set[int] = set()  # parameters whose gradient came
        self.piled: dict[int, Line | None] = {}  # those that an optimizer changed by a gradient it had used before
        self._suspects: dict[int, Line | None] = {}  # gradients that came on top of one that an optimizer had used
        self.used: dict[int, Any] = {}  # parameter -> the gradient that an optimizer used
        self.optimizers: list[tuple[Optimizer, Line | None]] = []
        self.cleared = False
        self._tags: dict[int, tuple[weakref.ref[Tensor], str, Any]] = {}
        self._outputs: dict[int, weakref.ref[Tensor]] = {}
        self._undo: list[Callable[[], object]] = []
        self._running: list[Any] = []
        self._own = {id(module) for module in model.modules()}
        self.outside: dict[int, tuple[Any, Line | None]] = {}  # layers that forward calls and the model does not have
        self.wasted: dict[int, Line | None] = {}  # parameters whose gradient was cleared before anybody used it

    # --- coming and going -------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
            register_optimizer_step_post_hook(self._stepped),
        ]
        for p in self.model.parameters():
            if p.requires_grad and p.is_leaf:
                handles.append(p.register_hook(self._arrival(p)))
        self._undo = [handle.remove for handle in handles]
        for kind in (Optimizer, Module):
            self._undo.append(self._listen(kind))
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for undo in self._undo:
            undo()
        self._tags.clear()
        self._outputs.clear()

    def _listen(self, kind: Any) -> Callable[[], object]:
        own = kind.zero_grad

        def zero_grad(this: Any, *args: Any, **kwargs: Any) -> None:
            self.cleared = True
            self._waste()
            own(this, *args, **kwargs)

        kind.zero_grad = zero_grad
        return lambda: setattr(kind, "zero_grad", own)

    def _waste(self) -> None:
        """Gradients are about to be cleared: note those that no optimizer has used."""
        for p in self.model.parameters():
            grad = own_grad(p) if id(p) in self.arrived else None
            if grad is not None and self.used.get(id(p)) != (id(grad), grad._version):
                with no_grad():
                    if bool((grad != 0).any()) and bool(grad.isfinite().all()):
                        self.wasted.setdefault(id(p), here())

    def _arrival(self, p: Tensor) -> Callable[[Tensor], None]:
        key = id(p)
        parameter = weakref.ref(p)

        def note(grad: Tensor) -> None:
            self.arrived.add(key)
            leaf = parameter()
            before = None if leaf is None else own_grad(leaf)
            with no_grad():
                if before is None or not bool((before != 0).any()):
                    self._suspects.pop(key, None)  # it was cleared
                elif self.used.get(key) == (id(before), before._version):
                    self._suspects.setdefault(key, self.backwards[-1] if self.backwards else here())

        return note

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.optimizers.append((optimizer, here()))
        for group in optimizer.param_groups:
            for p in group["params"]:
                if (grad := own_grad(p)) is not None:
                    if id(p) in self._suspects:  # else it was of no use to anybody, and is cleared later
                        self.piled.setdefault(id(p), self._suspects[id(p)])
                    self.used[id(p)] = (id(grad), grad._version)

    # --- modules ----------------------------------------------------------------------------------------------------
    def _enter(self, module: Any, args: Any) -> None:
        strange = self._running and id(self._running[0]) in self._own and id(module) not in self._own
        if strange and is_grad_enabled() and any(p.requires_grad for p in module.parameters(recurse=False)):
            self.outside.setdefault(id(module), (module, here()))
        self._running.append(module)
        self.ran.setdefault(id(module), here())
        if is_grad_enabled():  # an evaluation in between does not count
            self.modes[id(module)] = module.training or self.modes.get(id(module), False)

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        if self._running:
            self._running.pop()
        if module is self.model and isinstance(output, Tensor):
            self._mark_output(output)
        if isinstance(module, Linear) and module.out_features == 1 and isinstance(output, Tensor):
            self.tag(output, ONE_UNIT, here())

    def _mark_output(self, t: Tensor) -> None:
        self._outputs[id(t)] = weakref.ref(t)

    def is_output(self, t: Any) -> bool:
        """Whether a tensor is what the model returned, maybe in another shape."""
        found = self._outputs.get(id(t))
        return found is not None and found() is t

    # --- functions --------------------------------------------------------------------------------------------------
    def tag(self, t: Tensor, name: str, more: Any) -> None:
        """Remember what a tensor is, as long as it lives."""
        self._tags[id(t)] = (weakref.ref(t), name, more)

    def tag_of(self, t: Any) -> tuple[str, Any]:
        """What a tensor is, or ""."""
        found = self._tags.get(id(t))
        return (found[1], found[2]) if found is not None and found[0]() is t else ("", None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
        if name == "backward" and args:
            self.backwards.append(here())
        out = func(*args, **kwargs)
        first = args[0] if args else kwargs.get("input")
        if isinstance(first, Tensor):
            self._note(name, first, args, kwargs, out)
        elif name == "rsub" and len(args) > 1 and isinstance(args[1], Tensor):
            self._note(name, args[1], args, kwargs, out)
        return out

    def _note(self, name: str, first: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        if name in RESHAPING and isinstance(out, Tensor):
            if self.tag_of(first)[0] not in ("", ONE_UNIT):
                self.tag(out, *self.tag_of(first))
            if self.is_output(first):
                self._mark_output(out)
        elif name in ("softmax", "log_softmax", "sigmoid") and isinstance(out, Tensor):
            dim = kwargs.get("dim", args[1] if len(args) > 1 and not isinstance(args[1], Tensor) else None)
            tag, made = self.tag_of(first)
            if name != "sigmoid" and tag == ONE_UNIT and dim in (-1, out.ndim - 1) and out.ndim > 1:
                self.calls.append(Call(ONE_UNIT, (name, made), here()))
            self.tag(out, name, (dim % out.ndim if isinstance(dim, int) and out.ndim else dim, here(), id(out)))
        elif name in ("relu", "relu_") and isinstance(out, Tensor):
            self._dead(out)
        elif name in CUTTING and first.requires_grad and is_grad_enabled():
            self.cuts.append(Call(name, (tuple(first.shape),), here()))
        elif name in LOSSES:
            target = kwargs.get("target", args[1] if len(args) > 1 else None)
            if isinstance(target, Tensor):
                log_target = bool(kwargs.get("log_target", args[5] if len(args) > 5 else False))
                self._loss(name, kwargs.get("input", first), target, log_target)
        elif (
            name in ("sub", "rsub", "__sub__", "__rsub__", "subtract") and len(args) > 1 and isinstance(args[1], Tensor)
        ):
            pair = (args[0], args[1])
            pred = next((t for t in pair if self.is_output(t)), None)
            rest = pair[1] if pred is pair[0] else pair[0]
            if pred is not None and isinstance(rest, Tensor) and not rest.requires_grad:
                self.calls.append(Call("sub", (tuple(pred.shape), tuple(rest.shape)), here()))

    def _loss(self, name: str, input: Any, target: Tensor, log_target: bool) -> None:
        tag, more = self.tag_of(input)
        positive = False
        if name == "kl_div" and tag != "softmax" and not log_target and self.tag_of(target)[0] == "log_softmax":
            tag, more = "target", self.tag_of(target)[1]
        if name == "nll_loss" and tag == "log_softmax" and more[2] == id(input) and more[0] not in (
                None, 1 if input.ndim > 1 else 0):
            tag = "other dimension"
        if name == "nll_loss" and tag not in ("softmax", "log_softmax", "other dimension") and input.numel():
            with no_grad():
                positive = bool((input.detach() > 1e-4).any())
        self.calls.append(Call(name, (tuple(input.shape), tuple(target.shape), tag, more, positive), here()))

    def _dead(self, out: Tensor) -> None:
        """Units (elements of the last dimension, or channels of images) that are 0 for every sample."""
        axis = 1 if out.ndim > 3 else out.ndim - 1
        if out.ndim < 2 or out.numel() // out.shape[axis] < LEAST_SAMPLES or not out.requires_grad:
            return
        with no_grad():
            alive = (out.detach() != 0).movedim(axis, -1).reshape(-1, out.shape[axis]).any(0)
            units, dead = alive.numel(), int((~alive).sum())
        if units and dead >= LEAST_DEAD * units:
            self.calls.append(
                Call("dead", (dead, units, weakref.ref(self._running[-1]) if self._running else None), here())
            )


LOSSES = {
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "cross_entropy",
    "nll_loss",
    "kl_div",
    "binary_cross_entropy_with_logits",
}
