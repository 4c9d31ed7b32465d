"""Physics in the loss: pina solves Poisson's equation on a square, with its operators, conditions and trainer."""
import logging
import warnings
from typing import ClassVar

import torch
from report import tell

logging.disable(logging.CRITICAL)


def main():
    warnings.simplefilter("ignore")
    from pina import Condition, LabelTensor, Trainer
    from pina.domain import CartesianDomain
    from pina.equation import Equation, FixedValue
    from pina.model import FeedForward
    from pina.operator import laplacian
    from pina.problem import SpatialProblem
    from pina.solver import PINN

    def poisson(input_, output_):
        force = torch.sin(input_.extract(["x"]) * torch.pi) * torch.sin(input_.extract(["y"]) * torch.pi)
        return laplacian(output_, input_, components=["u"], d=["x", "y"]) - force

    class Poisson(SpatialProblem):
        output_variables: ClassVar = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1], "y": [0, 1]})
        domains: ClassVar = {"side": CartesianDomain({"x": [0, 1], "y": 0}), "inside": CartesianDomain({"x": [0, 1], "y": [0, 1]})}
        conditions: ClassVar = {"side": Condition(domain="side", equation=FixedValue(0.0)),
                                "inside": Condition(domain="inside", equation=Equation(poisson))}

    torch.manual_seed(0)
    points = LabelTensor(torch.rand(5, 2), ["x", "y"])
    tell("labels", points.extract(["y"]).labels)
    problem = Poisson()
    problem.discretise_domain(n=4, mode="grid", domains="inside")
    problem.discretise_domain(n=6, mode="grid", domains="side")
    model = FeedForward(input_dimensions=2, output_dimensions=1, layers=[8, 8])
    solver = PINN(problem=problem, model=model)
    trainer = Trainer(solver=solver, max_epochs=4, accelerator="cpu", enable_model_summary=False, logger=False, enable_progress_bar=False,
                      enable_checkpointing=False)
    trainer.train()
    tell("solution", solver(points).tensor)


main()
