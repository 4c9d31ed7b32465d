"""Laplace approximations of laplace-torch: the posterior over a network's last layer and over all weights."""
import torch
from laplace import Laplace
from report import tell
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.linspace(-2, 2, 24)[:, None]
    y = x.sin() + 0.1 * torch.randn(24, 1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(20):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    loader = DataLoader(TensorDataset(x, y), batch_size=12)
    for subset, structure in (("last_layer", "full"), ("all", "diag"), ("all", "kron")):
        posterior = Laplace(model, "regression", subset_of_weights=subset, hessian_structure=structure)
        posterior.fit(loader)
        mean, variance = posterior(torch.tensor([[0.3], [3.0]]))
        tell(f"{subset} {structure} mean", mean)
        tell("variance", variance)
        tell("evidence", posterior.log_marginal_likelihood())


main()
