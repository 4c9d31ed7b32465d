"""Gaussian processes: exact regression, its hyperparameters learnt, predictions; a variational classifier with inducing points."""
import math

import gpytorch
import torch
from report import tell


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel() + gpytorch.kernels.MaternKernel(nu=1.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=1))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def main():
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 40)
    y = torch.sin(x * 2 * math.pi) + torch.randn(40) * 0.2

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    likelihood_of_all = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = -likelihood_of_all(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tell("exact losses", losses)
    tell("noise", likelihood.noise)
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        foreseen = likelihood(model(torch.linspace(0, 1, 11)))
        tell("mean", foreseen.mean)
        tell("variance", foreseen.variance)
        low, high = foreseen.confidence_region()
        tell("region", torch.stack([low, high]))

    labels = torch.sign(torch.cos(x * 4 * math.pi)).add(1).div(2)
    model, likelihood = Variational(torch.linspace(0, 1, 10)[:, None]), gpytorch.likelihoods.BernoulliLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, 40)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = -bound(model(x[:, None]), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tell("variational losses", losses)
    model.eval()
    with torch.no_grad():
        tell("probabilities", likelihood(model(x[:, None])).mean)


main()
