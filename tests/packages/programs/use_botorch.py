"""Bayesian optimization: a Gaussian process fitted by botorch, acquisition functions and their best points."""
import warnings

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin, Hartmann
from botorch.utils.multi_objective import is_non_dominated
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood
from report import tell

warnings.simplefilter("ignore")


def main():
    torch.manual_seed(0)
    problem = Branin(negate=True)
    x = draw_sobol_samples(problem.bounds.double(), n=12, q=1, seed=1).squeeze(1)
    y = problem(x).unsqueeze(-1)
    tell("points", x)
    tell("values", y)
    model = SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    tell("lengthscale", model.covar_module.lengthscale)
    points = draw_sobol_samples(problem.bounds.double(), n=5, q=1, seed=2)
    tell("mean", model.posterior(points).mean)
    tell("variance", model.posterior(points).variance)
    tell("improvement", LogExpectedImprovement(model, y.max())(points))
    tell("upper bound", UpperConfidenceBound(model, beta=0.1)(points))
    several = qExpectedImprovement(model, y.max(), SobolQMCNormalSampler(torch.Size([32]), seed=3))
    tell("improvement of several", several(points))
    point, value = optimize_acqf(LogExpectedImprovement(model, y.max()), problem.bounds.double(), q=1, num_restarts=3,
                                 raw_samples=32, options={"seed": 4})
    tell("next point", point)
    tell("next value", value)
    tell("hartmann", Hartmann()(torch.full((1, 6), 0.3)))
    tell("not dominated", is_non_dominated(torch.tensor([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5]])))


main()
