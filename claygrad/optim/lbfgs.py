"""L-BFGS: quasi-Newton steps from the last differences of gradients."""
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from claygrad.autograd.grad_mode import enable_grad, no_grad
from claygrad.ops.join import cat
from claygrad.optim._line_search import strong_wolfe
from claygrad.optim.optimizer import Optimizer, as_real, as_scalar, check_lr, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from claygrad.core import Tensor
    from claygrad.optim.optimizer import Params

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: up to max_iter quasi-Newton steps along -H * grad, H being estimated from the last history_size steps.

    `step` needs a closure that computes the loss and its gradients. line_search_fn is None or "strong_wolfe".
    """

    def __init__(self, params: Params, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _flat_gradient(self) -> Tensor:
        grads = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._params]
        return cat([real.reshape(-1) for real in as_real(*grads)])

    def _move(self, distance: Any, direction: Tensor) -> None:
        at = 0
        for p in as_real(*self._params):
            p.add_(direction[at:at + p.numel()].view_as(p), alpha=number(distance))
            at += p.numel()

    def _try(self, closure: Callable[[], Any], start: list[Tensor], direction: Tensor,
             distance: Any) -> tuple[float, Tensor]:
        """Loss and gradient at that distance; the parameters stay."""
        self._move(distance, direction)
        loss = float(number(closure()))
        grad = self._flat_gradient()
        for p, was in zip(self._params, start, strict=True):
            p.copy_(was)
        return loss, grad

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to max_iter steps; returns the loss before the first."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr = as_scalar(group["lr"])
        enough, tolerance, iterations = group["tolerance_grad"], group["tolerance_change"], group["max_iter"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = float(number(first_loss))
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_gradient()
        if grad.abs().max() <= enough:
            return first_loss

        last_grad, last_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        direction, distance = state.get("d"), state.get("t")
        history = _History(state, group["history_size"])
        for iteration in range(1, iterations + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = grad.neg()
                history.clear()
            else:
                history.add(grad.sub(last_grad), direction.mul(distance))
                direction = history.direction(grad)
            last_grad = grad.clone() if last_grad is None else last_grad.copy_(grad)
            last_loss = loss
            distance = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -tolerance:
                break
            tried = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]
                loss, grad, distance, tried = strong_wolfe(partial(self._try, closure, start, direction), distance,
                                                           direction, loss, grad, slope,
                                                           max_evaluations=group["max_eval"] - evaluations)
                self._move(distance, direction)
            else:
                self._move(distance, direction)
                if iteration != iterations:           # the last gradient would go unused
                    loss = float(number(closure()))
                    grad = self._flat_gradient()
                    tried = 1
            evaluations += tried
            state["func_evals"] += tried
            if evaluations >= group["max_eval"] or grad.abs().max() <= enough:
                break
            if direction.mul(distance).abs().max() <= tolerance or abs(loss - last_loss) < tolerance:
                break

        state.update(d=direction, t=distance, **history.kept(), prev_flat_grad=last_grad, prev_loss=last_loss)
        return first_loss


class _History:
    """Pairs of gradient differences and steps, and the step of Newton's method that they suggest."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state = state
        self.size = size
        self.differences: Any = state.get("old_dirs")
        self.steps: Any = state.get("old_stps")
        self.inverses: Any = state.get("ro")
        self.scale: Any = state.get("H_diag")

    def clear(self) -> None:
        self.differences, self.steps, self.inverses, self.scale = [], [], [], 1

    def add(self, difference: Tensor, step: Tensor) -> None:
        curvature = difference.dot(step)
        if curvature > 1e-10:
            if len(self.differences) == self.size:
                for old in (self.differences, self.steps, self.inverses):
                    old.pop(0)
            self.differences.append(difference)
            self.steps.append(step)
            self.inverses.append(1.0 / curvature)
            self.scale = curvature / difference.dot(difference)

    def direction(self, grad: Tensor) -> Tensor:
        """-H * grad by two loops over the pairs."""
        weights = self.state.setdefault("al", [None] * self.size)
        q = grad.neg()
        for i in reversed(range(len(self.steps))):
            weights[i] = self.steps[i].dot(q) * self.inverses[i]
            q.add_(self.differences[i], alpha=-weights[i].item())
        r = q * self.scale
        for i, step in enumerate(self.steps):
            r.add_(step, alpha=(weights[i] - self.differences[i].dot(r) * self.inverses[i]).item())
        return r

    def kept(self) -> dict[str, Any]:
        return {"old_dirs": self.differences, "old_stps": self.steps, "ro": self.inverses, "H_diag": self.scale}
