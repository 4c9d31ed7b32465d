"""torchmetrics: classification, regression, text, image and retrieval measures, collections, states that add up over batches."""
import torch
import torchmetrics as tm
import torchmetrics.functional as F
from report import tell
from torchmetrics.clustering import AdjustedRandScore


def main():
    torch.manual_seed(0)
    scores, target = torch.randn(5, 40, 4).softmax(-1), torch.randint(0, 4, (5, 40))
    collection = tm.MetricCollection([
        tm.classification.MulticlassAccuracy(4), tm.classification.MulticlassF1Score(4), tm.classification.MulticlassAUROC(4),
        tm.classification.MulticlassConfusionMatrix(4), tm.classification.MulticlassCalibrationError(4),
        tm.classification.MulticlassAveragePrecision(4), tm.classification.MulticlassMatthewsCorrCoef(4)])
    for part, truth in zip(scores, target, strict=True):
        tell("step", collection(part, truth))
    tell("all", collection.compute())
    collection.reset()
    tell("binary curve", F.roc(scores[0, :, 0], (target[0] == 0).long(), task="binary")[0])
    tell("multilabel", F.f1_score(scores[0], (scores[1] > 0.3).long(), task="multilabel", num_labels=4))
    x, y = torch.randn(60), torch.randn(60)
    for kind in (tm.MeanSquaredError, tm.MeanAbsoluteError, tm.R2Score, tm.PearsonCorrCoef, tm.SpearmanCorrCoef,
                 tm.KendallRankCorrCoef, tm.ExplainedVariance, tm.CosineSimilarity, tm.ConcordanceCorrCoef):
        measure = kind()
        shape = (2, 30) if kind is tm.CosineSimilarity else (60,)
        measure.update(x.reshape(shape), (x + 0.5 * y).reshape(shape))
        tell(kind.__name__, measure.compute())
    images = torch.rand(2, 3, 32, 32)
    tell("ssim", tm.image.StructuralSimilarityIndexMeasure(data_range=1.0)(images, (images * 0.9)))
    tell("psnr", tm.image.PeakSignalNoiseRatio(data_range=1.0)(images, images * 0.9))
    tell("total variation", tm.image.TotalVariation()(images))
    tell("snr", tm.audio.SignalNoiseRatio()(x, y))
    tell("si-sdr", tm.audio.ScaleInvariantSignalDistortionRatio()(x, y))
    tell("bleu", tm.text.BLEUScore(2)(["the cat is on the mat"], [["there is a cat on the mat"]]))
    tell("perplexity", tm.text.Perplexity()(scores.log(), target))
    tell("word errors", tm.text.WordErrorRate()(["this is the prediction"], ["this is the reference"]))
    tell("ndcg", tm.retrieval.RetrievalNormalizedDCG()(x[:10], (y[:10] > 0), indexes=torch.arange(10) // 5))
    tell("map", tm.retrieval.RetrievalMAP()(x[:10], (y[:10] > 0), indexes=torch.arange(10) // 5))
    tell("mean", tm.MeanMetric()(x))
    tell("rand", AdjustedRandScore()(target[0], target[1]))
    total = tm.classification.BinaryAccuracy() + tm.classification.BinaryPrecision()
    tell("composed", total(scores[0, :, 0], (target[0] == 0).long()))
    again = tm.classification.MulticlassAccuracy(4)
    again.persistent(True)
    again.update(scores[0], target[0])
    other = tm.classification.MulticlassAccuracy(4)
    other.persistent(True)
    other.load_state_dict(again.state_dict())
    tell("loaded", other.compute())


main()
