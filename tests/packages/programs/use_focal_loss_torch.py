"""Losses of small packages: focal losses, balanced classes, InfoNCE, and TorchCRF's likelihood."""
import torch
from balanced_loss import Loss
from focal_loss.focal_loss import FocalLoss
from info_nce import InfoNCE
from report import tell
from TorchCRF import CRF


def main():
    torch.manual_seed(0)
    logits = torch.randn(12, 4, requires_grad=True)
    y = torch.randint(0, 4, (12,))

    def told(name, loss, of=logits):
        tell(name, loss)
        tell(f"{name}.gradient", torch.autograd.grad(loss, of)[0])

    told("focal", FocalLoss(gamma=0.7, weights=torch.tensor([1.0, 2.0, 0.5, 1.0]))(torch.softmax(logits, -1), y))
    told("focal.two", FocalLoss(gamma=2.0)(torch.sigmoid(logits[:, 0]), (y > 1).long()))
    for kind in ("focal_loss", "cross_entropy", "binary_cross_entropy"):
        told(kind, Loss(loss_type=kind, samples_per_class=[5, 3, 2, 2], class_balanced=True)(logits, y))
    query, positive = torch.randn(6, 8, requires_grad=True), torch.randn(6, 8)
    told("infonce", InfoNCE()(query, positive), query)
    told("infonce.paired", InfoNCE(negative_mode="paired")(query, positive, torch.randn(6, 3, 8)), query)
    crf = CRF(4)
    scores, mask = torch.randn(3, 5, 4, requires_grad=True), torch.ones(3, 5, dtype=torch.bool)
    mask[1, 3:] = False
    told("crf", -crf(scores, torch.randint(0, 4, (3, 5)), mask).mean(), scores)
    tell("crf.path", [label for path in crf.viterbi_decode(scores, mask) for label in path])


main()
