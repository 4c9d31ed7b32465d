"""The losses that PyTorch also has as `torch.name`, with the reduction as a number: 0 none, 1 mean, 2 sum."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.ops import loss, loss_margin
from claygrad.ops._registry import composite

if TYPE_CHECKING:
    from claygrad.core import Tensor


def named(reduction: int) -> str:
    """Numbers beyond the three count as none, as in PyTorch."""
    return ("none", "mean", "sum")[reduction] if 0 <= reduction <= 2 else "none"


def pair(t) -> tuple[Tensor, Tensor]:
    return t(3, 4), t(3, 4, low=0.1, high=0.9)


def signs(t, *shape: int) -> Tensor:
    return t.index(shape, 2) * 2 - 1


@composite(name="binary_cross_entropy_with_logits", method=False,
           samples=lambda t: [t.args(*pair(t)), t.args(*pair(t), None, t(4, low=0.1, requires_grad=False), 1)])
def torch_bce_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                          pos_weight: Tensor | None = None, reduction: int = 0) -> Tensor:
    "nn.functional.binary_cross_entropy_with_logits with the reduction as a number."
    return loss.bce_logits(input, target, weight, pos_weight, named(reduction))


@composite(name="kl_div", method=False,
           samples=lambda t: [t.args(*pair(t)), t.args(*pair(t), 1), t.args(*pair(t), 2, log_target=True)])
def torch_kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    "nn.functional.kl_div with the reduction as a number."
    return loss.divergence(input, target, named(reduction), log_target)


@composite(name="poisson_nll_loss", method=False,
           samples=lambda t: [t.args(*pair(t), True, True, 1e-8, r) for r in range(3)])
def torch_poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float,
                           reduction: int) -> Tensor:
    "nn.functional.poisson_nll_loss with the reduction as a number."
    return loss.poisson_nll_loss(input, target, log_input, full, None, eps, None, named(reduction))


@composite(name="hinge_embedding_loss", method=False,
           samples=lambda t: [t.args(t(3, 4), signs(t, 3, 4)), t.args(t(3, 4), signs(t, 3, 4), 0.5, 1)])
def torch_hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    "nn.functional.hinge_embedding_loss with the reduction as a number."
    return loss_margin.hinge_embedding_loss(input, target, margin, None, None, named(reduction))


@composite(name="margin_ranking_loss", method=False,
           samples=lambda t: [t.args(t(4), t(4), signs(t, 4)), t.args(t(4), t(4), signs(t, 4), 0.5, 1)])
def torch_margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                              reduction: int = 0) -> Tensor:
    "nn.functional.margin_ranking_loss with the reduction as a number."
    return loss_margin.margin_ranking_loss(input1, input2, target, margin, None, None, named(reduction))


@composite(name="cosine_embedding_loss", method=False,
           samples=lambda t: [t.args(t(3, 4), t(3, 4), signs(t, 3)), t.args(t(3, 4), t(3, 4), signs(t, 3), 0.2, 2)])
def torch_cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                                reduction: int = 0) -> Tensor:
    "nn.functional.cosine_embedding_loss with the reduction as a number."
    return loss_margin.cosine_embedding_loss(input1, input2, target, margin, None, None, named(reduction))


@composite(name="triplet_margin_loss", method=False,
           samples=lambda t: [t.args(t(3, 4), t(3, 4), t(3, 4)),
                              t.args(t(3, 4), t(3, 4), t(3, 4), 0.5, 1, 1e-6, True, 1)])
def torch_triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                              eps: float = 1e-6, swap: bool = False, reduction: int = 0) -> Tensor:
    "nn.functional.triplet_margin_loss with the reduction as a number."
    return loss_margin.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, None, None,
                                           named(reduction))
