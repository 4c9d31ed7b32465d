"""DistributedDataParallel against one process on the joined batch, in all its variants. Runs on any number of ranks."""

import contextlib
import copy

import claygrad as torch
import claygrad.distributed as dist
from claygrad import nn
from claygrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from claygrad.nn.parallel import DistributedDataParallel as DDP
from claygrad.utils.checkpoint import checkpoint

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
EACH = 6


def model(seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 40), nn.GELU(), nn.Linear(40, 3)).to(dtype)


def batch(step=0, n=EACH * size, dtype=torch.float64):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(n, 5, generator=generator, dtype=dtype), torch.randn(n, 3, generator=generator, dtype=dtype)


def share(t):
    return t[rank * EACH:(rank + 1) * EACH]


def loss_of(net, x, y):
    return ((net(x) - y) ** 2).mean()


def everywhere_the_same(tensors):
    outs = [None] * size
    dist.all_gather_object(outs, [t.detach().numpy().tobytes() for t in tensors])
    assert all(one == outs[0] for one in outs), "parameters differ between ranks"


def close(a, b, what, **limits):
    for (name, p), q in zip(a.named_parameters(), b.parameters()):
        assert (p.grad is None) == (q.grad is None), (what, name)
        if p.grad is not None:
            assert torch.allclose(p.grad, q.grad, **limits), (what, name, (p.grad - q.grad).abs().max())


# Gradients are those of one process on all the inputs, however buckets are cut and gradients kept.
for options in ({}, {"bucket_cap_mb": 0.002}, {"bucket_cap_mb": 0.002, "gradient_as_bucket_view": True}, {"static_graph": True},
                {"find_unused_parameters": True, "bucket_cap_mb": 0.002}, {"bucket_cap_mb_list": [0.001, 0.01]}):
    net, alone = DDP(model(rank), **options), model(0)
    assert list(net.state_dict()) == [f"module.{name}" for name in alone.state_dict()]
    for step in range(3):
        for one in (net, alone):
            one.zero_grad(set_to_none=step != 1)
        x, y = batch(step)
        loss_of(net, share(x), share(y)).backward()
        loss_of(alone, x, y).backward()
        close(net.module, alone, options, rtol=1e-10, atol=1e-12)

# A hundred steps: the parameters are the same bits on all ranks, and near those of one process.
for dtype, limit in ((torch.float32, 1e-4), (torch.float64, 1e-11)):
    net, alone = DDP(model(rank, dtype), bucket_cap_mb=0.004), model(0, dtype)
    opts = [torch.optim.Adam(one.parameters(), 1e-3) for one in (net, alone)]
    for step in range(100):
        x, y = batch(step, dtype=dtype)
        for one, opt, a, b in ((net, opts[0], share(x), share(y)), (alone, opts[1], x, y)):
            opt.zero_grad()
            loss_of(one, a, b).backward()
            opt.step()
    everywhere_the_same(net.parameters())
    worst = max((p - q).abs().max().item() for p, q in zip(net.parameters(), alone.parameters()))
    assert worst < limit, worst

# Several backwards before one average.
net, alone = DDP(model(0)), model(0)
for step in range(3):
    with net.no_sync() if step < 2 else contextlib.nullcontext():
        x, y = batch(step)
        loss_of(net, share(x), share(y)).backward()
        loss_of(alone, x, y).backward()
close(net.module, alone, "no_sync", rtol=1e-10)


# Parameters that are not used: on one rank, on all, or on none.
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.a, self.b, self.c = (nn.Linear(5, 3).double() for _ in range(3))

    def forward(self, x, both):
        return {"out": self.a(x) + (self.b(x) if both else 0)}


net = DDP(Branches(), find_unused_parameters=True, bucket_cap_mb=0.0001)
x, y = batch()
for step in range(3):
    net.zero_grad()
    both = rank == 0 and step != 1
    ((net(share(x), both)["out"] - share(y)) ** 2).mean().backward()
    alone = Branches()
    total = sum(((alone(x[r * EACH:(r + 1) * EACH], r == 0 and step != 1)["out"] - y[r * EACH:(r + 1) * EACH]) ** 2).mean() for r in range(size)) / size
    total.backward()
    close(net.module, alone, ("unused", step), rtol=1e-10)
net = DDP(Branches())
net(share(x), True)["out"].sum().backward()
try:
    net(share(x), True)
    raise AssertionError("nothing was raised")
except RuntimeError as wrong:
    assert "Expected to have finished reduction in the prior iteration" in str(wrong) and "these are c.weight, c.bias" in str(wrong)
net = DDP(Branches(), static_graph=True)
for _ in range(3):
    net.zero_grad()
    net(share(x), True)["out"].sum().backward()
    assert net.module.c.weight.grad is None
    assert torch.allclose(net.module.a.bias.grad, torch.full((3,), float(EACH)).double())

# Parts that are computed again in backward, which may nest one backward in another.
class Checkpointed(nn.Module):
    def __init__(self, last):
        super().__init__()
        torch.manual_seed(6)
        self.a, self.b, self.c = (nn.Linear(n, m).double() for n, m in ((5, 4), (4, 4), (4, 3)))
        self.last = last

    def forward(self, x, again):
        if self.last:
            return checkpoint(self.c, self.b(self.a(x)), use_reentrant=again)
        return self.c(checkpoint(self.b, self.a(x), use_reentrant=again))


for again, static, last in ((False, False, False), (False, True, True), (True, True, False), (True, True, True), (True, False, True)):
    net, alone = DDP(Checkpointed(last), static_graph=static, bucket_cap_mb=0.0001), Checkpointed(last)
    for step in range(3):
        x, y = batch(step)
        for one in (net, alone):
            one.zero_grad()
        ((net(share(x), again) - share(y)) ** 2).mean().backward()
        ((alone(x, again) - y) ** 2).mean().backward()
        close(net.module, alone, ("checkpoint", again, static, last), rtol=1e-10)

# Buffers are those of rank 0 at every forward.
torch.manual_seed(rank)
norm = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
net = DDP(norm)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    x, y = batch(step)
    opt.zero_grad()
    loss_of(net, share(x), share(y)).backward()
    opt.step()
net(share(x))                      # brings the buffers of rank 0; this forward changes them once more
everywhere_the_same(net.parameters())
net.eval()
with torch.no_grad():
    net(share(x))

# Statistics over all ranks.
torch.manual_seed(0)
alone = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
net = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone)), forward_sync_buffers=False)
for step in range(3):
    x, y = batch(step)
    for one in (net, alone):
        one.zero_grad()
    loss_of(net, share(x), share(y)).backward()
    loss_of(alone, x, y).backward()
    close(net.module, alone, "SyncBatchNorm", rtol=1e-8, atol=1e-12)
for (name, ours), theirs in zip(net.module.named_buffers(), alone.buffers()):
    assert torch.allclose(ours, theirs), name

# Communication hooks.
for hook, limits in ((default_hooks.allreduce_hook, {"rtol": 1e-10}), (default_hooks.fp16_compress_hook, {"rtol": 1e-2, "atol": 1e-3}),
                     (default_hooks.bf16_compress_hook, {"rtol": 5e-2, "atol": 5e-3}),
                     (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), {"rtol": 1e-2, "atol": 1e-3})):
    net, alone = DDP(model(0), bucket_cap_mb=0.004), model(0)
    net.register_comm_hook(None, hook)
    x, y = batch()
    loss_of(net, share(x), share(y)).backward()
    loss_of(alone, x, y).backward()
    close(net.module, alone, hook, **limits)
    everywhere_the_same([p.grad for p in net.parameters()])
seen = []


def counting(state, bucket):
    seen.append((bucket.index(), bucket.is_last(), len(bucket.gradients()), len(bucket.parameters())))
    return default_hooks.allreduce_hook(state, bucket)


net = DDP(model(0), bucket_cap_mb=0.004)
net.register_comm_hook(dist.group.WORLD, counting)
loss_of(net, share(x), share(y)).backward()
assert [index for index, *_ in seen] == list(range(len(seen))) and seen[-1][1] and sum(n for *_, n in seen) == 6, seen

# Ranks with different numbers of inputs: who is done takes part with zeros.
for initial in (True, False):
    net = DDP(model(0), bucket_cap_mb=0.004)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    alone = model(0)
    alone_opt = torch.optim.SGD(alone.parameters(), 0.1)
    steps = 3 + rank
    with net.join(divide_by_initial_world_size=initial):
        for step in range(steps):
            x, y = batch(step)
            opt.zero_grad()
            loss_of(net, share(x), share(y)).backward()
            opt.step()
    for step in range(3 + size - 1):
        there = [r for r in range(size) if step < 3 + r]
        x, y = batch(step)
        alone_opt.zero_grad()
        total = sum(loss_of(alone, x[r * EACH:(r + 1) * EACH], y[r * EACH:(r + 1) * EACH]) for r in there)
        (total / (size if initial else len(there))).backward()
        alone_opt.step()
    everywhere_the_same(net.parameters())
    for p, q in zip(net.parameters(), alone.parameters()):
        assert torch.allclose(p, q, rtol=1e-9), ("join", initial)

# A sampler's shares are disjoint and complete.
sampler = torch.utils.data.DistributedSampler(range(4 * size + 1), shuffle=True)
outs = [None] * size
dist.all_gather_object(outs, list(sampler))
assert sorted({i for one in outs for i in one}) == list(range(4 * size + 1))

if size > 1:
    try:
        DDP(nn.Linear(2 + rank, 2))
        raise AssertionError("nothing was raised")
    except RuntimeError as wrong:
        assert "appears not to match sizes of the same param in process" in str(wrong)
with contextlib.suppress(ValueError):
    DDP(model(), device_ids=[0])
    raise AssertionError("nothing was raised")
print(f"rank {rank} done")
