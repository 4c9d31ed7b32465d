"""Bayesian regression in pyro: variational inference with a guide, Hamiltonian Monte Carlo, predictions."""
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoMultivariateNormal, AutoNormal
from pyro.nn import PyroModule, PyroSample
from report import tell


class Regression(PyroModule):
    def __init__(self):
        super().__init__()
        self.linear = PyroModule[torch.nn.Linear](2, 1)
        self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))
        self.linear.bias = PyroSample(dist.Normal(0.0, 10.0).expand([1]).to_event(1))

    def forward(self, x, y=None):
        spread = pyro.sample("spread", dist.Uniform(0.0, 2.0))
        mean = self.linear(x).squeeze(-1)
        with pyro.plate("data", x.shape[0]):
            pyro.sample("seen", dist.Normal(mean, spread), obs=y)
        return mean


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("components", 2):
        places = pyro.sample("places", dist.Normal(0.0, 5.0))
    with pyro.plate("data", len(data)):
        which = pyro.sample("which", dist.Categorical(weights))
        pyro.sample("seen", dist.Normal(places[which], 0.5), obs=data)


def main():
    pyro.set_rng_seed(1)
    x = torch.randn(60, 2)
    y = x @ torch.tensor([1.5, -0.7]) + 0.3 + 0.1 * torch.randn(60)
    for kind in (AutoNormal, AutoMultivariateNormal):
        pyro.clear_param_store()
        pyro.set_rng_seed(2)
        model = Regression()
        guide = kind(model)
        svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
        tell(f"{kind.__name__} losses", [svi.step(x, y) for _ in range(30)])
        tell(f"{kind.__name__} median", {name: value for name, value in guide.median(x).items()})
    drawn = Predictive(model, guide=guide, num_samples=5, return_sites=("seen", "_RETURN"))(x[:3])
    tell("predicted", drawn["seen"])

    pyro.clear_param_store()
    pyro.set_rng_seed(3)
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0, 0.5])
    guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "places"]))
    svi = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    tell("mixture losses", [svi.step(data) for _ in range(20)])

    pyro.clear_param_store()
    pyro.set_rng_seed(4)

    def eight(sigma):
        centre = pyro.sample("centre", dist.Normal(0.0, 3.0))
        with pyro.plate("schools", 4):
            pyro.sample("effect", dist.Normal(centre, 1.0), obs=None)
            pyro.sample("seen", dist.Normal(centre, sigma), obs=torch.tensor([2.0, 1.0, -1.0, 0.5]))

    sampler = MCMC(NUTS(eight, jit_compile=False), num_samples=20, warmup_steps=10, disable_progbar=True)
    sampler.run(torch.tensor([1.0, 1.0, 2.0, 1.5]))
    tell("centre", sampler.get_samples()["centre"])


main()
