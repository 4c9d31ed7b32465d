"""As contrastive learning and GANs do it: features gathered with gradients, two models, moving averages, evaluation of remainders."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.nn import all_gather
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def is_dist_avail_and_initialized():
    return dist.is_available() and dist.is_initialized()


def is_main_process():
    return not is_dist_avail_and_initialized() or dist.get_rank() == 0


def show(name, value):
    if is_main_process():
        print(f"value {name} {float(value):.6f}")


class GatherLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        output = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(output, x)
        return tuple(output)

    @staticmethod
    def backward(ctx, *grads):
        all_gradients = torch.stack(grads)
        dist.all_reduce(all_gradients)
        return all_gradients[dist.get_rank()]


def gathered_by_hand(x):
    return GatherLayer.apply(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 8)

    def forward(self, x):
        return F.normalize(self.second(checkpoint(lambda t: F.relu(self.first(t)), x, use_reentrant=False)), dim=1)


def contrast(gather):
    torch.manual_seed(0)
    model = DDP(Encoder(), static_graph=True)
    ema = AveragedModel(model.module, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(8, 6, generator=generator)
        pairs = [x + 0.1 * torch.randn(8, 6, generator=generator) for _ in range(2)]
        mine = torch.cat([pair.chunk(world_size)[rank] for pair in pairs])
        a, b = model(mine).chunk(2)
        a, b = (torch.cat(gather(z.contiguous())) for z in (a, b))
        logits = a @ b.t() / 0.1
        loss = F.cross_entropy(logits, torch.arange(8)) + F.cross_entropy(logits.t(), torch.arange(8))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model.module)
        show(f"{gather.__name__}{step}", loss)
    show(f"{gather.__name__}_ema", sum(p.abs().sum() for p in ema.parameters()))


def gan():
    torch.manual_seed(3)
    G = DDP(nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2)), broadcast_buffers=False)
    D = DDP(nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1)), find_unused_parameters=False)
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.5, 0.999)) for model in (D, G)]
    loss = nn.BCEWithLogitsLoss()
    for step in range(4):
        generator = torch.Generator().manual_seed(10 * step + rank)
        real, noise = torch.randn(8, 2, generator=generator) + 2, torch.randn(8, 4, generator=generator)
        fake = G(noise)
        D.requires_grad_(True)
        optimizers[0].zero_grad()
        d = loss(D(torch.cat([real, fake.detach()])), torch.cat([torch.ones(8, 1), torch.zeros(8, 1)]))
        d.backward()
        optimizers[0].step()
        D.requires_grad_(False)
        optimizers[1].zero_grad()
        g = loss(D.module(fake), torch.ones(8, 1))
        g.backward()
        optimizers[1].step()
        both = torch.stack([d.detach(), g.detach()])
        dist.reduce(both, 0, op=dist.ReduceOp.SUM)
        show(f"d{step}", both[0] / world_size)
        show(f"g{step}", both[1] / world_size)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.frozen = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3).requires_grad_(False)

    def forward(self, x, flag):
        return self.frozen(self.a(x) if flag else self.b(x))


def unused():
    torch.manual_seed(4)
    model = DDP(Branches(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        model(torch.full((2, 3), float(step + 1)), (step + rank) % 2 == 0).square().mean().backward()
        optimizer.step()
    show("unused", sum(p.abs().sum() for p in model.parameters()))


@torch.no_grad()
def evaluate():
    data = TensorDataset(torch.arange(23.0))
    sampler = DistributedSampler(data, shuffle=False)
    mine = torch.cat([x for (x,) in DataLoader(data, batch_size=4, sampler=sampler)])
    sizes = [torch.zeros(1, dtype=torch.long) for _ in range(world_size)]
    dist.all_gather(sizes, torch.tensor([mine.numel()]))
    padded = torch.zeros(int(max(sizes)) + 1)
    padded[: mine.numel()] = mine
    everything = torch.empty(world_size * padded.numel())
    dist.all_gather_into_tensor(everything, padded)
    rows = everything.view(world_size, -1)
    found = torch.stack([row[: int(n)] for row, n in zip(rows, sizes)], 1).flatten()[:23]
    assert torch.equal(found, torch.arange(23.0))
    gathered = [None] * world_size if rank == 0 else None
    dist.gather_object({"rank": rank, "n": len(mine)}, gathered, dst=0)
    show("rows", sum(one["n"] for one in gathered) if rank == 0 else 0)


if __name__ == "__main__":
    assert not is_dist_avail_and_initialized()
    dist.init_process_group(backend="gloo", init_method="env://")
    contrast(all_gather)
    contrast(gathered_by_hand)
    gan()
    unused()
    evaluate()
    dist.barrier()
    dist.destroy_process_group()
