"""Rotary positions for queries and keys, for pictures and with learned frequencies; sparse softmaxes of entmax beside it."""
import torch
from entmax import Entmax15Loss, entmax15, sparsemax, sparsemax_loss
from report import tell
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def main():
    torch.manual_seed(0)
    q, k = torch.randn(1, 2, 12, 16, requires_grad=True), torch.randn(1, 2, 12, 16)
    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    turned = rotary.rotate_queries_or_keys(q)
    (turned @ rotary.rotate_queries_or_keys(k).mT).softmax(-1).square().sum().backward()
    tell("turned", turned)
    tell("gradient", q.grad)
    tell("frequencies", rotary.freqs.grad)
    axial = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=10).get_axial_freqs(4, 6)
    tell("axial", apply_rotary_emb(axial, torch.randn(1, 4, 6, 16)))
    scores = torch.randn(4, 7, requires_grad=True)
    tell("sparsemax", sparsemax(scores, -1))
    tell("entmax", entmax15(scores, -1))
    loss = Entmax15Loss()(scores, torch.tensor([0, 1, 2, 3])) + sparsemax_loss(scores, torch.tensor([0, 1, 2, 3])).sum()
    loss.backward()
    tell("loss", loss)
    tell("gradient of the scores", scores.grad)


main()
