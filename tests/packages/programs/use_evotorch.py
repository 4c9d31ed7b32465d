"""Search without gradients: evotorch's SNES, CEM, CMA-ES and a genetic algorithm on Rastrigin's function."""
import math

import torch
from evotorch import Problem
from evotorch.algorithms import CEM, CMAES, PGPE, SNES, XNES, GeneticAlgorithm
from evotorch.decorators import vectorized
from evotorch.operators import GaussianMutation, SimulatedBinaryCrossOver
from report import tell


@vectorized
def rastrigin(x):
    return 10 * x.shape[1] + (x**2 - 10 * torch.cos(2 * math.pi * x)).sum(1)


def main():
    for name, make in {
            "snes": lambda problem: SNES(problem, stdev_init=3.0, popsize=20),
            "xnes": lambda problem: XNES(problem, stdev_init=3.0, popsize=20),
            "cem": lambda problem: CEM(problem, stdev_init=3.0, popsize=20, parenthood_ratio=0.5),
            "pgpe": lambda problem: PGPE(problem, stdev_init=3.0, popsize=20, center_learning_rate=0.2, stdev_learning_rate=0.1),
            "cmaes": lambda problem: CMAES(problem, stdev_init=3.0, popsize=12),
            "genetic": lambda problem: GeneticAlgorithm(problem, popsize=20, operators=[
                SimulatedBinaryCrossOver(problem, tournament_size=3, cross_over_rate=1.0, eta=8), GaussianMutation(problem, stdev=0.5)])}.items():
        problem = Problem("min", rastrigin, solution_length=4, initial_bounds=(-5.12, 5.12), seed=3, dtype=torch.float64)
        searcher = make(problem)
        searcher.run(8)
        tell(name, [searcher.status["best_eval"], searcher.status["mean_eval"]])


main()
