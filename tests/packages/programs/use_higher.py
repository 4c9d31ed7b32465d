"""Meta-learning by higher: gradients through inner optimizer steps, the learned rate among them."""
import higher
import torch
from report import tell


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    for kind, options in ((torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.01}), (torch.optim.RMSprop, {"lr": 0.01}), (torch.optim.Adagrad, {"lr": 0.01})):
        inner = kind(model.parameters(), **options)
        outer = torch.optim.Adam(model.parameters(), 1e-3)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        for _ in range(2):
            outer.zero_grad()
            with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, optimizer):
                for _ in range(3):
                    optimizer.step(((functional(x) - y) ** 2).mean())
                loss = ((functional(x) - y) ** 2).mean()
                loss.backward()
            tell(kind.__name__, loss)
            tell("gradient", model[0].weight.grad)
            outer.step()


main()
