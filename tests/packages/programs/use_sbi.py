"""Simulation-based inference: posteriors by neural estimation of densities, likelihoods and ratios."""
import os
import tempfile
import warnings

import torch
from report import tell
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((200,))
    x = theta + 0.3 * torch.randn(200, 2)
    for kind, model in ((NPE, "maf"), (NPE, "nsf"), (NLE, "maf"), (NRE, "mlp")):
        torch.manual_seed(1)
        inference = kind(prior, model, show_progress_bars=False)
        inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=50)
        tell(f"{kind.__name__} {model}", [float(v) for v in inference.summary["validation_loss"]])
        if kind is NPE:
            posterior = inference.build_posterior()
            torch.manual_seed(2)
            drawn = posterior.sample((50,), x=torch.tensor([0.5, -0.5]), show_progress_bars=False)
            tell("drawn", drawn)
            tell("density", posterior.log_prob(drawn[:4], x=torch.tensor([0.5, -0.5])))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)            # it writes logs there
    main()
