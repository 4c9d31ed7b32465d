"""Reversed gradients, k-means twice, logic tensor networks, Adam-atan2, GrokFast, mixtures of experts and slot attention."""
import ltn
import numpy as np
import torch
from adam_atan2_pytorch import AdamAtan2, AdoptAtan2
from fast_pytorch_kmeans import KMeans
from grokfast_pytorch import GrokFastAdamW
from kmeans_pytorch import kmeans
from mixture_of_experts import MoE
from pytorch_revgrad import RevGrad
from report import tell
from slot_attention import SlotAttention
from torch import nn


def train(name, make, steps=5):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)).double()
    x, y = torch.randn(64, 6).double(), torch.randn(64, 2).double()
    optimizer = make(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    tell(name, loss)
    tell(f"{name}, weights", model[0].weight)


def main():
    train("AdamAtan2", lambda p: AdamAtan2(p, lr=1e-2))
    train("AdoptAtan2", lambda p: AdoptAtan2(p, lr=1e-2))
    train("GrokFastAdamW", lambda p: GrokFastAdamW(p, lr=1e-2))
    torch.manual_seed(0)
    x = torch.randn(4, 3, requires_grad=True)
    RevGrad(alpha=0.5)(x).pow(2).sum().backward()
    tell("revgrad", x.grad)
    np.random.seed(0)
    points = torch.cat([torch.randn(20, 2) + 4 * k for k in range(3)])
    found = KMeans(n_clusters=3, mode="euclidean", max_iter=20)
    tell("k-means", sorted(found.fit_predict(points).bincount().tolist()))
    labels, centers = kmeans(X=points, num_clusters=3, distance="euclidean", device=torch.device("cpu"))
    tell("k-means of the other", sorted(labels.bincount().tolist()))
    tell("centers", centers.sort(0).values)
    predicate = ltn.Predicate(nn.Sequential(nn.Linear(2, 8), nn.ELU(), nn.Linear(8, 1), nn.Sigmoid()))
    forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
    implies = ltn.Connective(ltn.fuzzy_ops.ImpliesReichenbach())
    optimizer = torch.optim.Adam(predicate.parameters(), lr=0.05)
    for _ in range(3):
        a, b = ltn.Variable("a", points[:20]), ltn.Variable("b", points[40:])
        optimizer.zero_grad()
        truth = forall([a, b], implies(predicate(a), predicate(b))).value * exists(a, predicate(a)).value
        (1 - truth).backward()
        optimizer.step()
        tell("logic", truth)
    experts = MoE(dim=8, num_experts=4, hidden_dim=16, second_policy_train="all", second_policy_eval="all")
    out, extra = experts(torch.randn(2, 16, 8))
    (out.pow(2).mean() + extra).backward()
    tell("experts", out)
    tell("experts, extra", extra)
    tell("experts, gradient", experts.gate.w_gating.grad)
    slots = SlotAttention(num_slots=3, dim=8, iters=2)
    found = slots(torch.randn(2, 10, 8))
    found.sum().backward()
    tell("slots", found)
    tell("slots, gradient", slots.to_q.weight.grad)


main()
