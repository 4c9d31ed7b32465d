"""Checkpoints inside and around units that are sharded, over a weight that all blocks share: the losses of the model as it is."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 9), nn.Linear(9, 6)

    def forward(self, x):
        return x + self.b(torch.tanh(self.a(x)))


class Model(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.blocks, self.tied = nn.ModuleList(Block() for _ in range(3)), nn.Linear(6, 6, bias=False)
        self.reentrant = reentrant

    def forward(self, x):
        for block in self.blocks:
            def run(t, block=block):
                return nn.functional.linear(block(t), self.tied.weight)

            x = run(x) if self.reentrant is None else checkpoint(run, x, use_reentrant=self.reentrant)
        return x


def as_it_is(model):
    return model


def by_blocks(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def named(model):
    return FullyShardedDataParallel(model, use_orig_params=True)


def loss(shard, reentrant):
    torch.manual_seed(0)
    model = shard(Model(reentrant).double())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(3):
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(8, 6, generator=generator, dtype=torch.float64)
        if shard is not as_it_is:
            x = x.chunk(dist.get_world_size())[dist.get_rank()]
        optimizer.zero_grad()
        out = model(x.clone().requires_grad_()).square().mean()
        out.backward()
        optimizer.step()
    out = out.detach()
    dist.all_reduce(out)
    return out.item() / dist.get_world_size()


dist.init_process_group("mpi")
expected = loss(as_it_is, None)
for shard in (fully_shard, by_blocks, FullyShardedDataParallel, named):
    for reentrant in (None, False, True):
        found = loss(shard, reentrant)
        assert abs(found - expected) < 1e-12, (shard.__name__, reentrant, found, expected)
print("done")
