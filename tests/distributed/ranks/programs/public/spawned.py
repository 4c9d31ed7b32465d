"""As PyTorch's tutorial on DDP starts its ranks: torch.multiprocessing.spawn, a group for each demonstration."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

CHECKPOINT = os.path.join(tempfile.gettempdir(), "model.checkpoint")


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("gloo", init_method="env://", rank=rank, world_size=world_size)
    torch.manual_seed(42 + rank)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def step(model, optimizer):
    optimizer.zero_grad()
    loss = nn.MSELoss()(model(torch.randn(20, 10)), torch.randn(20, 5))
    loss.backward()
    optimizer.step()


def demo_basic(rank, world_size, lr):
    setup(rank, world_size)
    model = DDP(ToyModel())
    step(model, torch.optim.SGD(model.parameters(), lr=lr))
    everywhere = [torch.zeros(5, 10) for _ in range(world_size)]
    dist.all_gather(everywhere, model.module.net2.weight.detach())
    assert all(torch.equal(one, everywhere[0]) for one in everywhere)
    print(f"basic on rank {rank} of {world_size}\n", end="", flush=True)
    dist.destroy_process_group()


def demo_checkpoint(rank, world_size, lr):
    setup(rank, world_size)
    model = DDP(ToyModel())
    if rank == 0:
        torch.save(model.state_dict(), CHECKPOINT)
    dist.barrier()
    model.load_state_dict(torch.load(CHECKPOINT, map_location={"cuda:0": f"cuda:{rank}"}, weights_only=True))
    step(model, torch.optim.SGD(model.parameters(), lr=lr))
    dist.barrier()
    if rank == 0:
        os.remove(CHECKPOINT)
    print(f"checkpoint on rank {rank}\n", end="", flush=True)              # and does not end its group


def demo_error(rank, world_size, lr):
    setup(rank, world_size)
    if rank == world_size - 1:
        raise ValueError("out of cheese")
    dist.barrier()


if __name__ == "__main__":
    world_size = int(sys.argv[1])
    demos = [demo_error] if "error" in sys.argv else [demo_basic, demo_checkpoint, demo_basic]
    for demo in demos:
        mp.spawn(demo, args=(world_size, 0.001), nprocs=world_size, join=True)
