"""Spiking networks: neurons of norse and of spikingjelly over time, with surrogate gradients."""
import norse.torch as norse
import torch
from report import tell
from spikingjelly.activation_based import functional, layer, neuron, surrogate


def main():
    torch.manual_seed(0)
    x = torch.rand(6, 4, 5)
    cells = {"LIF": norse.LIFCell(), "LSNN": norse.LSNNRecurrentCell(5, 5), "LI": norse.LICell()}
    for name, cell in cells.items():
        state, total = None, 0
        first = torch.nn.Linear(5, 5)
        for step in x:
            out, state = cell(first(step) * 20, state)
            total = total + out.sum()
        total.backward()
        tell(name, total)
        tell("gradient", first.weight.grad)
    net = norse.SequentialState(torch.nn.Linear(5, 8), norse.LIFCell(), torch.nn.Linear(8, 2), norse.LICell())
    out, state = net(x[0])
    tell("net", out)
    torch.manual_seed(1)
    net = torch.nn.Sequential(layer.Linear(5, 8), neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()), layer.Linear(8, 2), neuron.IFNode(surrogate_function=surrogate.Sigmoid()))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        rate = sum(net(step * 3) for step in x) / 6
        loss = torch.nn.functional.mse_loss(rate, torch.eye(2)[[0, 1, 0, 1]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        functional.reset_net(net)
        tell("spikingjelly", loss)
    functional.set_step_mode(net, "m")
    tell("several steps", net(x).sum(0))


main()
