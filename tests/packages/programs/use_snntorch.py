"""Spiking networks: leaky neurons over time, surrogate gradients, a loss of spike counts."""
import snntorch as snn
import snntorch.functional as SF
import torch
from report import tell
from snntorch import spikegen, surrogate
from torch import nn


def main():
    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    lif1, lif2 = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid()), snn.Leaky(beta=0.8, spike_grad=surrogate.atan())
    spikes = spikegen.rate(torch.rand(6, 8), num_steps=10)
    tell("spikes", spikes)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 1e-2)
    criterion = SF.ce_rate_loss()
    for _ in range(3):
        mem1, mem2, out = lif1.init_leaky(), lif2.init_leaky(), []
        for step in spikes:
            spk, mem1 = lif1(first(step), mem1)
            spk, mem2 = lif2(second(spk), mem2)
            out.append(spk)
        loss = criterion(torch.stack(out), torch.arange(6) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("membrane", mem2)


main()
