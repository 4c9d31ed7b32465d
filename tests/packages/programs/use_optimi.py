"""Optimizers of optimi in two precisions, listed and released; Muon of muon-optimizer beside Adam; LAMB of pytorch-lamb."""
import optimi
import torch
from muon import SingleDeviceMuonWithAuxAdam
from pytorch_lamb import Lamb
from report import tell


def network(dtype=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(dtype)


def train(model, optimizer, dtype=torch.float32):
    x, y = torch.randn(16, 6, dtype=dtype), torch.randn(16, 2, dtype=dtype)
    for _ in range(3):
        loss = (model(x) - y).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss


def main():
    for name in ("Adam", "AdamW", "Adan", "Lion", "RAdam", "Ranger", "SGD", "StableAdamW"):
        for dtype in (torch.float32, torch.bfloat16):
            for foreach in (False, True):
                model = network(dtype)
                options = {"momentum": 0.9} if name == "SGD" else {}
                optimizer = getattr(optimi, name)(model.parameters(), lr=1e-2, foreach=foreach, weight_decay=1e-3, **options)
                train(model, optimizer, dtype)
                tell(name, model[0].weight)
    model = torch.nn.Linear(6, 2)
    optimizer = optimi.AdamW(model.parameters(), lr=1e-2, gradient_release=True)
    optimi.prepare_for_gradient_release(model, optimizer)
    for _ in range(2):
        model(torch.ones(2, 6)).pow(2).sum().backward()
    optimi.remove_gradient_release(model)
    tell("released", model.weight)

    model = network()
    groups = [{"params": [p for p in model.parameters() if p.ndim == 2], "use_muon": True, "lr": 0.02},
              {"params": [p for p in model.parameters() if p.ndim == 1], "use_muon": False, "lr": 1e-2}]
    tell("muon", train(model, SingleDeviceMuonWithAuxAdam(groups)))
    model = network()
    tell("lamb", train(model, Lamb(model.parameters(), lr=1e-2, weight_decay=0.01)))


main()
