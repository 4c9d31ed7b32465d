"""Optimizers without schedules: SGD, AdamW and RAdam of schedulefree, their two sets of weights."""
import schedulefree
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.randn(32, 6), torch.randn(32, 2)
    for kind, options in ((schedulefree.SGDScheduleFree, {"lr": 0.1, "warmup_steps": 2}),
                          (schedulefree.AdamWScheduleFree, {"lr": 0.01, "weight_decay": 0.1}),
                          (schedulefree.AdamWScheduleFree, {"lr": 0.01, "foreach": False}),
                          (schedulefree.RAdamScheduleFree, {"lr": 0.01}),
                          (schedulefree.SGDScheduleFreeReference, {"lr": 0.1}),
                          (schedulefree.AdamWScheduleFreeReference, {"lr": 0.01})):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        optimizer = kind(model.parameters(), **options)
        optimizer.train()
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            tell(kind.__name__, loss)
        optimizer.eval()
        tell("weights", model[0].weight)
        optimizer.train()
        tell("again", model[0].weight)


main()
