"""GradScaler: losses made larger, so that gradients in half precision do not vanish."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from inspect import signature
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, float16, float32, int32, prefix
from claygrad.core.user_warnings import warn
from claygrad.ops.fill import full

if TYPE_CHECKING:
    from claygrad.core import device

__all__ = ["GradScaler", "OptState"]

_FIX = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _amp_foreach_non_finite_check_and_unscale_(grads: list[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients in place; found_inf becomes 1 if one of them is not finite."""
    factor = inv_scale.item()
    with no_grad():
        for grad in grads:
            if not (grad._values() if grad.is_sparse else grad).isfinite().all():
                found_inf.fill_(1.0)
            if factor != 1.0:
                grad.mul_(factor)


def _amp_update_scale_(current_scale: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float,
                       scale_backoff_factor: float, growth_interval: int) -> Tensor:
    """Let the factor fall if a gradient was not finite, and grow after so many steps in which all were."""
    with no_grad():
        if found_inf.item():
            current_scale.mul_(scale_backoff_factor)
            growth_tracker.zero_()
        elif growth_tracker.add_(1).item() == growth_interval:
            larger = current_scale * scale_growth_factor
            if larger.isfinite():
                current_scale.copy_(larger)
            growth_tracker.zero_()
    return current_scale


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses by a factor that grows while gradients stay finite and falls, skipping a step, when they do not."""

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            self._scale: Tensor | None = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker = 0
            self._growth_tracker: Tensor | None = None
            self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, name: str) -> tuple[Tensor, Tensor]:
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  {_FIX}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {name} but _growth_tracker is None.  {_FIX}")
        return self._scale, self._growth_tracker

    def _scale_on(self, where: device) -> Tensor:
        """The factor, begun where the first loss lies."""
        if self._scale is None:
            if self._growth_tracker is not None:
                raise AssertionError("_growth_tracker initialized before _scale")
            self._scale = full((), self._init_scale, dtype=float32, device=where)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=where)
        return self._scale.to(device=where)

    def scale(self, outputs: Any) -> Any:
        """The loss, or losses nested as they may be, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            out: Any = type(outputs)
            return out(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor,
                        allow_fp16: bool) -> dict[device, Tensor]:
        """Multiply the gradients; found_inf becomes 1 if one of them is not finite."""
        grads: dict[device, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if not allow_fp16 and param.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if param.grad.is_sparse and param.grad.dtype is float16:
                    param.grad = param.grad.coalesce()       # the sum of finite entries may not be finite
                grads.setdefault(param.grad.device, []).append(param.grad)
        found = {where: found_inf.to(where, copy=True) for where in grads}
        for where, these in grads.items():
            _amp_foreach_non_finite_check_and_unscale_(these, found[where], inv_scale)
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Take the factor out of the gradients, so that they can be looked at or clipped before `step`."""
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, full((), 0.0, device=scale.device),
                                                             False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the factor out of the gradients and step the optimizer, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            out = self._step_itself(optimizer, state, *args, **kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            bad = any(found.item() for found in state["found_inf_per_device"].values())
            out = None if bad else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return out

    def _step_itself(self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Step an optimizer that takes the factor out by itself."""
        if "grad_scaler" in signature(optimizer.step).parameters:
            warn("GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. "
                 "In the near future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the "
                 "passed optimizer and let the optimizer use them directly.", FutureWarning)
            return optimizer.step(*args, grad_scaler=self, **kwargs)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            given = getattr(optimizer, "grad_scale", None)
            optimizer.grad_scale = self._scale if given is None else self._scale * given
        else:
            optimizer.grad_scale = None
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Let the factor grow or fall, by what the steps since the last update found; or set it."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                                     f"{prefix()}.FloatTensor with requires_grad=False.")
            scale.copy_(new_scale)
        else:
            found = [inf for state in self._per_optimizer_states.values()
                     for inf in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _amp_update_scale_(scale, tracker, sum(inf.to(scale.device) for inf in found), self._growth_factor,
                               self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[device, Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, zero = full((), 1.0, device=scale.device), full((), 0.0, device=scale.device)
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[device, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # What it is

    def get_scale(self) -> float:
        """The factor; 1 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose what the factor is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by when it falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose what the factor is multiplied by when it falls."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose after how many good steps the factor grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    # Saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The factor and how it changes; nothing if disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled "
                               "instance of "
                               "GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, "
                                     "or at the end "
                                     "after scaler.update().")
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                         _growth_tracker=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
