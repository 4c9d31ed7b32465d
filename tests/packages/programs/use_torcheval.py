"""Metrics of torcheval: updated in batches, merged, computed."""
import torch
from report import tell
from torcheval import metrics
from torcheval.metrics import functional


def main():
    torch.manual_seed(0)
    scores, target = torch.rand(40, 3).softmax(1), torch.randint(0, 3, (40,))
    for metric in (metrics.MulticlassAccuracy(), metrics.MulticlassF1Score(num_classes=3, average="macro"),
                   metrics.MulticlassConfusionMatrix(3), metrics.MulticlassAUROC(num_classes=3)):
        other = type(metric)(num_classes=3) if "Confusion" in type(metric).__name__ else metric.__class__(
            **({"num_classes": 3} if "AUROC" in type(metric).__name__ else
               {"num_classes": 3, "average": "macro"} if "F1" in type(metric).__name__ else {}))
        metric.update(scores[:25], target[:25])
        other.update(scores[25:], target[25:])
        metric.merge_state([other])
        tell(type(metric).__name__, metric.compute())
    tell("auroc", functional.binary_auroc(scores[:, 0], (target == 0).long()))
    tell("r2", functional.r2_score(scores[:, 0], scores[:, 1]))
    tell("ndcg", functional.retrieval_precision(scores[:, 0], (target == 0).long(), k=10))
    tell("psnr", functional.peak_signal_noise_ratio(scores, scores.flip(0)))


main()
