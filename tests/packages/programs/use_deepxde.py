"""A differential equation solved by a network: deepxde on torch, Poisson's equation and an inverse problem."""
import os

os.environ["DDE_BACKEND"] = "pytorch"

import contextlib
import io

with contextlib.redirect_stdout(io.StringIO()):
    import deepxde as dde
import numpy as np
import torch
from report import tell


def main():
    dde.config.set_random_seed(0)

    def equation(x, y):
        return -dde.grad.hessian(y, x) - np.pi ** 2 * torch.sin(np.pi * x)

    line = dde.geometry.Interval(-1, 1)
    edge = dde.icbc.DirichletBC(line, lambda x: 0, lambda x, on: on)
    with contextlib.redirect_stdout(io.StringIO()):
        data = dde.data.PDE(line, equation, edge, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=20)
        model = dde.Model(data, dde.nn.FNN([1] + [10] * 2 + [1], "tanh", "Glorot uniform"))
        model.compile("adam", lr=1e-3, metrics=["l2 relative error"])
        history, state = model.train(iterations=20, display_every=5)
        tell_later = [np.asarray(history.loss_train), model.predict(np.linspace(-1, 1, 5)[:, None])]
        model.compile("L-BFGS")
        dde.optimizers.set_LBFGS_options(maxiter=5)
        history, state = model.train()
    tell("loss", tell_later[0])
    tell("predicted", tell_later[1])
    tell("lbfgs", np.asarray(history.loss_train)[0])


main()
