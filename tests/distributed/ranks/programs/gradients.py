"""Collectives that gradients flow through: their gradients are those of the same computation in one process."""

import claygrad as torch
import claygrad.distributed as dist
import claygrad.distributed.nn.functional as F

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()


def inputs():
    """All ranks' inputs and weights, the same on all."""
    torch.manual_seed(1)
    return torch.randn(size, size, 3, dtype=torch.float64), torch.randn(size, size, size, 3, dtype=torch.float64)


def compare(name, ours, alone):
    """`ours(x)` is this rank's outputs; `alone(xs)` gives those of every rank. Each rank's loss weighs its outputs."""
    xs, weights = inputs()
    mine = xs[rank].clone().requires_grad_()
    out = ours(mine)
    loss = sum((one * weights[rank, n, :len(one)]).sum() for n, one in enumerate(out))
    loss = loss + (mine ** 2).sum()
    loss.backward()
    every = [one.clone().requires_grad_() for one in xs]
    total = 0
    for r, outs in enumerate(alone(every)):
        total = total + sum((one * weights[r, n, :len(one)]).sum() for n, one in enumerate(outs)) + (every[r] ** 2).sum()
    total.backward()
    assert torch.allclose(mine.grad, every[rank].grad), (name, rank, mine.grad, every[rank].grad)


zeros = lambda x: torch.zeros_like(x)
compare("all_reduce", lambda x: [F.all_reduce(x)], lambda xs: [[sum(xs)]] * size)
compare("broadcast", lambda x: [F.broadcast(x, size - 1)], lambda xs: [[xs[-1]]] * size)
compare("all_gather", lambda x: F.all_gather(x), lambda xs: [xs] * size)
compare("reduce_scatter", lambda x: [F.reduce_scatter(torch.empty(1, 3, dtype=x.dtype), list(x.split(1)))],
        lambda xs: [[sum(x[r:r + 1] for x in xs)] for r in range(size)])
compare("all_to_all", lambda x: F.all_to_all([torch.empty(1, 3)] * size, list(x.split(1))),
        lambda xs: [[x[r:r + 1] for x in xs] for r in range(size)])
compare("all_to_all_single", lambda x: [F.all_to_all_single(torch.empty(size, 3), x)],
        lambda xs: [[torch.cat([x[r:r + 1] for x in xs])] for r in range(size)])
compare("gather", lambda x: F.gather(x, 0) if rank == 0 else [one * 0 for one in F.gather(x, 0)],
        lambda xs: [xs if r == 0 else [] for r in range(size)])
compare("scatter", lambda x: [F.scatter(list(x.split(1)), 0)],
        lambda xs: [[xs[0][r:r + 1]] for r in range(size)])
compare("reduce", lambda x: [F.reduce(x, 0)] if rank == 0 else [F.reduce(x, 0) * 0],
        lambda xs: [[sum(xs)] if r == 0 else [] for r in range(size)])

# Twice.
x = torch.full((2,), float(rank + 1), dtype=torch.float64, requires_grad=True)
y = F.all_reduce(x ** 2)
g, = torch.autograd.grad((y ** 2).sum(), x, create_graph=True)
(g ** 2).sum().backward()
print("rank", rank, x.grad.tolist())
