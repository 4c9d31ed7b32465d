"""What all optimizers share: parameter groups, state, hooks, saving and loading."""
from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from operator import le  # the order that errors name
from typing import Any, ClassVar

from claygrad._legacy import typename
from claygrad.core import RemovableHandle, Tensor, default_dtype, dtype, float32, float64
from claygrad.core.cpython.entry_points import guard
from claygrad.core.graph.modes import get_grad_enabled, set_grad_enabled_flag
from claygrad.core.sparse_tensor import sparse_tensors_exist
from claygrad.core.user_warnings import warn
from claygrad.native.optim import clear_gradients, gather
from claygrad.ops.complex import view_as_real
from claygrad.ops.creation import tensor

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

_global_optimizer_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable[..., Any]] = OrderedDict()


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` before every step of every optimizer; it may return new (args, kwargs)."""
    return RemovableHandle(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return RemovableHandle(_global_optimizer_post_hooks, hook)


_HOOKS = tuple(f"_optimizer_{when}_hooks" for when in (
    "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"))


class Optimizer:
    """The base of all optimizers. A subclass gives the defaults of its options and overrides `step`.

    `params` are tensors, pairs of name and tensor, or dicts: groups with options of their own.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    # Of subclasses: options that older checkpoints lack, and entries of the state that they hold as plain numbers.
    _later_options: ClassVar[dict[str, Any]] = {}
    _counts: tuple[str, ...] = ()

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + typename(params))
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for option, value in self._later_options.items():
                group.setdefault(option, value)
            for p in group["params"]:
                entry: Any = self.state.get(p)
                for name in self._counts if entry else ():
                    if not isinstance(entry[name], Tensor):
                        entry[name] = tensor(float(entry[name]), dtype=count_dtype(group.get("fused")))

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # Steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. `closure`, if given, computes the loss and its gradients, and returns the loss.
        """
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """The same step with hooks around it."""

        @functools.wraps(func)
        def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
            if not (_global_optimizer_pre_hooks or _global_optimizer_post_hooks or self._optimizer_step_pre_hooks
                    or self._optimizer_step_post_hooks):
                return func(self, *args, **kwargs)
            args = (self, *args)
            for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got "
                                           f"{changed}.")
                    args, kwargs = changed
            out = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        return guard(step)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) \
            -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        """The columns of some lists of tensors, grouped by the device and dtype of the first list's."""
        groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
        for place, column in enumerate(zip(*tensorlistlist, strict=True)):
            first = next((one for one in column if one is not None), None)
            key = (None, None) if first is None else (first.device, first.dtype)
            lists, positions = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
            for held, one in zip(lists, column):
                held.append(one)
            if with_indices:
                positions.append(place)
        return groups

    def _cuda_graph_capture_health_check(self) -> None:
        """Nothing to check: no graphs of CUDA are captured."""

    def _patch_step_function(self) -> None:
        cls: Any = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None or, with set_to_none=False, to zero."""
        for group in self.param_groups:
            if set_to_none:
                clear_gradients(group["params"])
                continue
            for p in group["params"]:
                if p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    # Hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` before every step; it may return new (args, kwargs)."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after every step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` before `state_dict`."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` before loading, with a shallow copy; it may return another one."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` after loading."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, with options of its own. Options that are not given are the optimizer's."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                            "tensors in "
                            "sets will change between runs. Please use a list instead.")
        given = [params] if isinstance(params, Tensor) else list(params)
        names = [entry[0] for entry in given if isinstance(entry, tuple)]
        params = param_group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in given]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + typename(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        here = set(params)
        if len(params) != len(here):
            warn("optimizer contains a parameter group with duplicate parameters; in future, this will "
                 "cause an error; "
                 "see github.com/pytorch/pytorch/issues/40967 for more information")
        named = "param_names" in param_group
        if any(named != ("param_names" in group) for group in self.param_groups):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                             f"{'with' if named else 'without'} names to the optimizer")
        if any(not here.isdisjoint(group["params"]) for group in self.param_groups):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # Saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The state and the options of all groups. Parameters are numbered 0, 1, 2, ... over all groups."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        place: dict[int, int] = {}
        first = 0
        groups = []
        for group in self.param_groups:
            for i, p in enumerate(group["params"], first):
                place.setdefault(id(p), i)
            first += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [place[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {place[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state from `state_dict`. Its tensors are converted to the dtype and device of their parameter."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                             "optimizer's group")
        at = {key: (p, new) for group, new in zip(groups, saved, strict=True)
              for key, p in zip(new["params"], group["params"], strict=True)}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in at:
                p, options = at[key]
                state[p] = _loaded(p, options, value, None)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _registered(hooks: Any, hook: Callable[..., Any], first: bool) -> RemovableHandle:
    handle: Any = RemovableHandle(hooks, hook)
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _loaded(p: Tensor, options: dict[str, Any], value: Any, key: Any) -> Any:
    """A value of a saved state as this parameter's."""
    if isinstance(value, Tensor):
        if key == "step":
            counted_there = options.get("capturable") or options.get("fused")
            return value.to(dtype=float32, device=p.device) if counted_there else value
        return value.to(dtype=p.dtype, device=p.device) if p.is_floating_point() else value.to(device=p.device)
    if isinstance(value, dict):
        return {k: _loaded(p, options, v, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        out: Any = type(value)
        return out(_loaded(p, options, v, None) for v in value)
    return value


class StepOptimizer(Optimizer):
    """An optimizer that changes each group by itself: it says how a state begins, and what to do with a group."""

    def _fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter that was not stepped yet."""
        raise NotImplementedError

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. `closure`, if given, computes the loss and its gradients, and returns the loss.
        """
        recording = get_grad_enabled()
        loss = None
        try:
            if closure is not None:
                set_grad_enabled_flag(True)
                loss = closure()
            set_grad_enabled_flag(self.defaults.get("differentiable", False))
            for group in self.param_groups:
                if sparse_tensors_exist():
                    self._refuse_sparse(group)
                self._update(group)
        finally:
            set_grad_enabled_flag(recording)
        return loss

    def _refuse_sparse(self, group: dict[str, Any]) -> None:
        """Raise if there is a sparse gradient; optimizers that take them override this."""
        if any(p.grad is not None and p.grad.is_sparse for p in group["params"]):
            name = type(self).__name__
            raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead"
                               if name in ("Adam", "AdamW") else f"{name} does not support sparse gradients")

    def _columns(self, group: dict[str, Any], *keys: str) -> Any:
        """The parameters that have gradients, the gradients, and those entries of the state."""
        columns = gather(group["params"], self.state, keys)
        if columns is None:
            fused = group.get("fused")
            for p in group["params"]:
                if p.grad is not None and not self.state[p]:
                    if fused:
                        check_fused(p)
                    self.state[p].update(self._fresh(p, group))
            columns = gather(group["params"], self.state, keys)
        return columns


# Words that several optimizers use

def count_dtype(fused: bool | None = None) -> dtype:
    """The dtype in which steps are counted."""
    return float64 if not fused and default_dtype() is float64 else float32


def number(value: Any) -> Any:
    """A hyperparameter as a Python number."""
    return value.item() if isinstance(value, Tensor) else value


def steps_of(param: Tensor) -> Any:
    """The steps that a device has kernels for: those of its table (claygrad.devices); None without such."""
    table = param.device.table
    return None if table is None else table.steps


def as_scalar(value: Any) -> Any:
    """A one-element tensor without axes; a number as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def rate_of(lr: Any, differentiable: bool) -> Any:
    """The learning rate as a number, or as the tensor it is where its gradient is asked for."""
    lr = as_scalar(lr)
    return lr if differentiable and isinstance(lr, Tensor) and lr.requires_grad else number(lr)


def add_scaled(param: Tensor, term: Tensor, scale: Any) -> None:
    """param += scale * term, for a number or a tensor that keeps its gradient."""
    if isinstance(scale, Tensor):
        param.add_(term * scale)
    else:
        param.add_(term, alpha=scale)


def add_quotient(param: Tensor, term: Tensor, divisor: Tensor, scale: Any) -> None:
    """param += scale * term / divisor, for a number or a tensor that keeps its gradient."""
    if isinstance(scale, Tensor):
        param.addcdiv_(term * scale, divisor)
    else:
        param.addcdiv_(term, divisor, value=scale)


def check_fused(p: Tensor) -> None:
    if not p.is_floating_point() or p.device.type != "cpu":
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                           f"['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but {p.dtype} and "
                           f"{p.device.type}")


def check_lr(lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not le(0.0, lr):
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(**values: Any) -> None:
    """Raise an error for a negative value."""
    for name, value in values.items():
        if not le(0.0, value):
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Any) -> None:
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused_alone(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_plain(foreach: bool | None, differentiable: bool, capturable: bool = False, what: str = "params",
                xla: bool = True) -> None:
    """What PyTorch's loops refuse on a CPU."""
    if foreach and differentiable:
        raise AssertionError("_foreach ops don't support autograd")
    if capturable:
        devices = ["cuda", "xpu", "hpu", "privateuseone"] + (["xla"] if xla else [])
        raise AssertionError(f"If capturable=True, {what} and state_steps must be on supported devices: {devices}.")


def check_counts(counts: list[Any], name: str = "state_steps") -> None:
    if not all(isinstance(count, Tensor) for count in counts):
        raise RuntimeError(f"API has changed, `{name}` argument must contain a list of singleton tensors")


def as_real(*tensors: Any) -> tuple[Any, ...]:
    """Complex tensors as pairs of reals, on the same memory."""
    return tuple(view_as_real(x) if isinstance(x, Tensor) and x.is_complex() else x for x in tensors)


def decayed(grad: Tensor, param: Tensor, weight_decay: Any) -> Tensor:
    """The gradient with that of weight_decay / 2 * |param|**2."""
    if isinstance(weight_decay, Tensor) and weight_decay.requires_grad:
        return grad.addcmul(param, weight_decay)
    return grad.add(param, alpha=number(weight_decay))


def moments(grad: Tensor, average: Tensor, square: Tensor, beta1: Any, beta2: Any) -> None:
    """Running averages of the gradient and of its square."""
    average.lerp_(grad, as_dtype(1 - beta1, average))
    if isinstance(beta2, Tensor) and beta2.requires_grad:
        square.lerp_(grad.square(), as_dtype(1 - beta2, square))
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=number(1 - beta2))


def as_dtype(value: Any, like: Tensor) -> Any:
    return value.to(like.dtype) if isinstance(value, Tensor) else value


def unscaled(params: list[Tensor], grads: list[Tensor], fused: bool | None, grad_scale: Tensor | None,
             found_inf: Tensor | None) -> list[Tensor] | None:
    """The gradients without the factor that a GradScaler gave them; None if it found some that are not finite."""
    if grad_scale is None and found_inf is None:
        return grads
    if not fused:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    if found_inf is not None and found_inf.item():
        return None
    if grad_scale is not None:
        factor = 1 / grad_scale.item()
        for grad in grads:
            grad.mul_(factor)
    return grads
