"""As the tutorials on ZeroRedundancyOptimizer, uneven inputs and communication hooks."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world_size)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 12))


def show(name, model):
    total = torch.stack([p.detach().double().abs().sum() for p in model.parameters()]).sum()
    least = total.clone()
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    assert total == least, name
    if rank == 0:
        print(f"value {name} {total.item():.6f}")


def batch(step, n=4):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(n, 12, generator=generator)


def train(name, model, optimizer, steps=6):
    for step in range(steps):
        optimizer.zero_grad()
        x = batch(step)
        nn.functional.mse_loss(model(x), x.flip(1)).backward()
        optimizer.step()
    show(name, model)


def zero(use):
    ddp = DDP(network())
    optimizer = (ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.Adam, lr=0.01) if use
                 else torch.optim.Adam(ddp.parameters(), lr=0.01))
    train(f"zero{use:d}", ddp, optimizer)
    if use:
        optimizer.consolidate_state_dict(to=0)
        if rank == 0:
            print(f"value states {len(optimizer.state_dict()['state'])}")


def uneven():
    model = DDP(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    inputs = [batch(step) for step in range(3 + rank)]
    seen = 0
    with Join([model, optimizer]):
        for x in inputs:
            seen += 1
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    assert seen == 3 + rank
    show("join", model)
    with model.join():
        for x in inputs:
            model(x).square().mean().backward()
    show("joined", model)


def hooks():
    for name, hook in (("allreduce", default.allreduce_hook), ("fp16", default.fp16_compress_hook)):
        model = DDP(network())
        model.register_comm_hook(state=None, hook=hook)
        train(name, model, torch.optim.SGD(model.parameters(), lr=0.1))


zero(True)
zero(False)
uneven()
hooks()
dist.destroy_process_group()
