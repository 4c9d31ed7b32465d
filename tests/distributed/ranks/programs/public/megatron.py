"""Columns and rows of a layer on different ranks, as Megatron's functions have it, beside groups for the data; and a pipeline."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, -1)

    @staticmethod
    def backward(ctx, grad):
        return grad.chunk(dist.get_world_size(ctx.group), -1)[dist.get_rank(ctx.group)].contiguous(), None


class MLP(nn.Module):
    def __init__(self, dim, hidden, group):
        super().__init__()
        self.group, n, i = group, dist.get_world_size(group), dist.get_rank(group)
        up, down = torch.randn(hidden, dim) * dim ** -0.5, torch.randn(dim, hidden) * hidden ** -0.5
        self.up = nn.Parameter(up.chunk(n)[i].clone())
        self.down = nn.Parameter(down.chunk(n, 1)[i].clone())

    def forward(self, x):
        return Reduce.apply(F.linear(F.gelu(F.linear(Copy.apply(x, self.group), self.up)), self.down), self.group)


def show(name, value):
    if dist.get_rank() == 0:
        print(f"value {name} {float(value):.6f}")


def tensor_parallel(mesh):
    torch.manual_seed(0)
    tp, dp = mesh.get_group("tp"), mesh.get_group("dp")
    assert dist.get_rank(tp) == mesh.get_local_rank("tp") == mesh["tp"].get_local_rank()
    model = nn.Sequential(MLP(8, 16, tp), MLP(8, 16, tp))
    head = nn.Parameter((torch.randn(4, 8) * 0.3).chunk(mesh["tp"].size())[mesh.get_local_rank("tp")].clone())
    optimizer = torch.optim.SGD([*model.parameters(), head], lr=0.1)
    for step in range(5):
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(8, 8, generator=generator)
        y = x[:, :4].argmax(1)
        mine = slice(None, None, mesh["dp"].size())
        x, y = x[mesh.get_local_rank("dp"):][mine], y[mesh.get_local_rank("dp"):][mine]
        optimizer.zero_grad()
        loss = F.cross_entropy(Gather.apply(F.linear(Copy.apply(model(x), tp), head), tp), y)
        loss.backward()
        for group in optimizer.param_groups:
            for p in group["params"]:
                dist.all_reduce(p.grad, group=dp)
                p.grad /= dist.get_world_size(dp)
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss, group=dp)
        show(f"loss{step}", loss / dist.get_world_size(dp))


def pipeline(rank, size):
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(4)]
    per = len(layers) // size
    stage = nn.Sequential(*layers[rank * per : (rank + 1) * per])
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.5)
    x, y = torch.randn(8, 6), torch.randn(8, 6)
    for step in range(3):
        optimizer.zero_grad()
        kept, losses = [], []
        for micro, target in zip(x.chunk(4), y.chunk(4)):
            inputs = micro.clone()
            if rank > 0:
                inputs = torch.empty_like(micro)
                dist.recv(inputs, rank - 1)
                inputs.requires_grad_()
            outputs = stage(inputs)
            if rank < size - 1:
                dist.send(outputs.detach(), rank + 1)
            else:
                outputs = F.mse_loss(outputs, target) / 4
                losses.append(outputs.item())
            kept.append((inputs, outputs))
        for inputs, outputs in kept:
            if rank < size - 1:
                grad = torch.empty_like(outputs)
                dist.recv(grad, rank + 1)
                outputs.backward(grad)
            else:
                outputs.backward()
            if rank > 0:
                dist.send(inputs.grad, rank - 1)
        optimizer.step()
        total = torch.tensor([float(sum(losses))])
        dist.broadcast(total, src=size - 1)
        show(f"pipeline{step}", total)


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    shapes = {1: (1, 1), 2: (1, 2), 4: (2, 2)}
    mesh = init_device_mesh("cpu", shapes[size], mesh_dim_names=("dp", "tp"))
    assert mesh.get_coordinate() == (rank // shapes[size][1], rank % shapes[size][1])
    tensor_parallel(mesh)
    pipeline(rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
