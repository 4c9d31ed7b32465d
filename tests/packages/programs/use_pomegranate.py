"""Distributions, a mixture of Gaussians and a hidden Markov model of pomegranate: fitted, and what they say."""
import torch
from pomegranate.distributions import Exponential, Normal
from pomegranate.gmm import GeneralMixtureModel
from pomegranate.hmm import DenseHMM
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.cat([torch.randn(60, 2), torch.randn(40, 2) * 0.5 + 3])
    normal = Normal().fit(x)
    tell("mean", normal.means)
    tell("covariance", normal.covs)
    tell("exponential", Exponential().fit(x.abs()).scales)
    mixture = GeneralMixtureModel([Normal(x[:2].mean(0), torch.eye(2)), Normal(x[-2:].mean(0), torch.eye(2))], max_iter=5)
    mixture.fit(x)
    tell("priors", mixture.priors)
    tell("log probability", mixture.log_probability(x))
    tell("clusters", mixture.predict(x))
    series = torch.cumsum(torch.randn(4, 12, 1), 1)
    model = DenseHMM([Normal([-1.0], [1.0], covariance_type="diag"), Normal([1.0], [1.0], covariance_type="diag")],
                     edges=[[0.8, 0.2], [0.3, 0.7]], starts=[0.5, 0.5], max_iter=4)
    model.fit(series)
    tell("edges", model.edges)
    tell("states", model.predict_proba(series))
    tell("series", model.log_probability(series))


main()
