"""Circuits and programs with gradients: pennylane's torch interface, layers of cvxpylayers that solve convex programs."""
import cvxpy as cp
import pennylane as qml
import torch
from cvxpylayers.torch import CvxpyLayer
from report import tell


def main():
    torch.manual_seed(0)
    device = qml.device("default.qubit", wires=2)

    @qml.qnode(device, interface="torch")
    def circuit(inputs, weights):
        qml.AngleEmbedding(inputs, wires=range(2))
        qml.BasicEntanglerLayers(weights, wires=range(2))
        return [qml.expval(qml.PauliZ(wire)) for wire in range(2)]

    layer = qml.qnn.TorchLayer(circuit, {"weights": (2, 2)})
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(3):
        loss = (layer(torch.tensor([[0.1, 0.2], [0.5, 0.7]])) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("circuit", loss)
    x, a, b = cp.Variable(2), cp.Parameter((3, 2)), cp.Parameter(3)
    program = CvxpyLayer(cp.Problem(cp.Minimize(cp.sum_squares(a @ x - b)), [x >= 0]), parameters=[a, b], variables=[x])
    matrix, wanted = torch.randn(3, 2, dtype=torch.float64, requires_grad=True), torch.randn(3, dtype=torch.float64, requires_grad=True)
    found, = program(matrix, wanted)
    tell("solved", found)
    found.sum().backward()
    tell("gradient", matrix.grad)


main()
