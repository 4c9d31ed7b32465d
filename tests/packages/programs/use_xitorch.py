"""Solvers with gradients: roots, fixed points, eigenvalues, integrals and interpolation of xitorch; torchode's batches of equations."""
import torch
import torchode
import xitorch
from report import tell
from xitorch.integrate import quad, solve_ivp
from xitorch.interpolate import Interp1D
from xitorch.linalg import solve, symeig
from xitorch.optimize import equilibrium, minimize, rootfinder


def main():
    torch.manual_seed(0)
    a = (torch.rand(3, 3, dtype=torch.float64) * 0.3).requires_grad_()
    root = rootfinder(lambda y, a: torch.tanh(a @ y + 0.1) + y / 2.0, torch.zeros(3, 1, dtype=torch.float64), params=(a,))
    tell("root", root)
    tell("gradient", torch.autograd.grad(root.sum(), a)[0])
    still = equilibrium(lambda y, a: torch.tanh(a @ y + 0.1), torch.zeros(3, 1, dtype=torch.float64), params=(a,))
    tell("still", still)
    least = minimize(lambda y, a: ((a @ y - 1) ** 2).sum() + (y ** 2).sum(), torch.zeros(3, 1, dtype=torch.float64), params=(a,), method="gd", step=0.05, maxiter=50)
    tell("least", least)
    matrix = a @ a.T + torch.eye(3, dtype=torch.float64)
    values, vectors = symeig(xitorch.LinearOperator.m(matrix, True), neig=2)
    tell("eigen", values)
    tell("gradient", torch.autograd.grad(values.sum(), a)[0])
    tell("solved", solve(xitorch.LinearOperator.m(a @ a.T + torch.eye(3, dtype=torch.float64)), torch.ones(3, 1, dtype=torch.float64)))
    tell("integral", quad(lambda x, a: torch.exp(-a.sum() * x ** 2), 0.0, 1.0, params=(a,)))
    tell("ivp", solve_ivp(lambda t, y, a: a @ y, torch.linspace(0, 1, 4, dtype=torch.float64), torch.ones(3, 1, dtype=torch.float64), params=(a,)))
    tell("between", Interp1D(torch.arange(5.0), method="cspline")(torch.tensor([0.5, 2.2]), torch.arange(5.0) ** 2))
    term = torchode.ODETerm(lambda t, y: -y * torch.arange(1.0, 4.0))
    step = torchode.Dopri5(term=term)
    solver = torchode.AutoDiffAdjoint(step, torchode.IntegralController(atol=1e-6, rtol=1e-4, term=term))
    start = torch.ones(2, 3, requires_grad=True)
    solution = solver.solve(torchode.InitialValueProblem(y0=start, t_eval=torch.linspace(0, 1, 5).expand(2, 5)))
    tell("ode", solution.ys)
    solution.ys.sum().backward()
    tell("gradient", start.grad)
    tell("steps", solution.stats["n_steps"])


main()
