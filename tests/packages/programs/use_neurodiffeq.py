"""A differential equation solved by a network of neurodiffeq: the residuals by autograd, some epochs of Adam."""
import torch
from neurodiffeq import diff
from neurodiffeq.conditions import IVP
from neurodiffeq.generators import Generator1D
from neurodiffeq.networks import FCNN
from neurodiffeq.solvers import Solver1D
from report import tell


def main():
    torch.manual_seed(0)
    net = FCNN(1, 1, hidden_units=(16, 16))
    solver = Solver1D(ode_system=lambda u, t: [diff(u, t, order=2) + u], conditions=[IVP(0.0, 0.0, 1.0)], t_min=0.0, t_max=3.0,
                      nets=[net], train_generator=Generator1D(32, 0.0, 3.0, "equally-spaced"),
                      valid_generator=Generator1D(16, 0.0, 3.0, "equally-spaced"))
    solver.fit(5, tqdm_file=None)
    tell("train", [float(v) for v in solver.metrics_history["train_loss"]])
    tell("valid", [float(v) for v in solver.metrics_history["valid_loss"]])
    tell("solution", solver.get_solution()(torch.linspace(0, 3, 7)))


main()
