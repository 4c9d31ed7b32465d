"""ZeroRedundancyOptimizer and FullyShardedDataParallel: the same training as in one process, in less memory."""

import contextlib
import gc

import claygrad as torch
import claygrad.distributed as dist
from claygrad import nn
from claygrad.distributed.algorithms.join import Join
from claygrad.distributed.fsdp import FullStateDictConfig, ShardingStrategy, StateDictType
from claygrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from claygrad.distributed.fsdp.wrap import ModuleWrapPolicy, enable_wrap, wrap
from claygrad.distributed.optim import ZeroRedundancyOptimizer
from claygrad.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
EACH = 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def model(width=16, depth=4, dtype=torch.float64):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, width), *[Block(width) for _ in range(depth)], nn.Linear(width, 3)).to(dtype)


def batch(step, dtype=torch.float64):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(EACH * size, 5, generator=generator, dtype=dtype), torch.randn(EACH * size, 3, generator=generator, dtype=dtype)


def train(net, opt, steps, whole, clip=None, dtype=torch.float64):
    for step in range(steps):
        x, y = batch(step, dtype)
        if not whole:
            x, y = x[rank * EACH:(rank + 1) * EACH], y[rank * EACH:(rank + 1) * EACH]
        opt.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        if clip is not None:
            clip(net)
        opt.step()


# ZeRO with the parameters of each rank in one piece of memory.
alone, net = model(), DDP(model())
own = torch.optim.AdamW(alone.parameters(), 1e-2, weight_decay=0.1)
zero = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, parameters_as_bucket_view=True, lr=1e-2, weight_decay=0.1)
assert len({p.untyped_storage().data_ptr() for p in net.parameters()}) == size
train(alone, own, 4, True)
train(net, zero, 4, False)
for p, q in zip(net.parameters(), alone.parameters()):
    assert torch.allclose(p, q, rtol=1e-9), "ZeRO in buckets"

# ZeRO: the same parameters as with the optimizer itself, and its state only once in all.
alone = model()
own = torch.optim.AdamW(alone.parameters(), 1e-2, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.StepLR(own, 2)
net = DDP(model())
zero = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=1e-2, weight_decay=0.1)
for _ in range(5):
    train(alone, own, 1, True)
    train(net, zero, 1, False)
for p, q in zip(net.parameters(), alone.parameters()):
    assert torch.allclose(p, q, rtol=1e-9), "ZeRO"
held = torch.tensor([float(sum(v.numel() for s in zero.optim.state.values() for v in s.values() if isinstance(v, torch.Tensor) and v.dim()))])
dist.all_reduce(held)
assert held.item() == 2 * sum(p.numel() for p in net.parameters()), "the state is kept once"
zero.consolidate_state_dict(to=0)
state = [zero.state_dict() if rank == 0 else None]
dist.broadcast_object_list(state)
again = torch.optim.AdamW(model().parameters(), 1e-2)
again.load_state_dict(state[0])                      # that of one process
zero.load_state_dict(state[0])
train(net, zero, 2, False)
train(alone, own, 2, True)
for p, q in zip(net.parameters(), alone.parameters()):
    assert torch.allclose(p, q, rtol=1e-9), "ZeRO, loaded"
assert len(again.state) == len(list(net.parameters()))

# ZeRO with ranks that have different numbers of inputs: who is done goes on with its share of the parameters.
net, alone = DDP(model()), model()
zero = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
own = torch.optim.SGD(alone.parameters(), lr=0.05, momentum=0.9)
with Join([net, zero]):
    for step in range(2 + rank):
        x, y = (t[rank * EACH:(rank + 1) * EACH] for t in batch(step))
        zero.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        zero.step()
for step in range(2 + size - 1):
    x, y = batch(step)
    own.zero_grad()
    parts = [slice(r * EACH, (r + 1) * EACH) for r in range(size) if step < 2 + r]
    (sum(((alone(x[part]) - y[part]) ** 2).mean() for part in parts) / size).backward()
    own.step()
for p, q in zip(net.parameters(), alone.parameters()):
    assert torch.allclose(p, q, rtol=1e-9), "ZeRO and join"

# FSDP: the same parameters as in one process.
for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
    for policy, named in ((None, False), (ModuleWrapPolicy([Block]), False), (ModuleWrapPolicy([Block]), True)):
        alone = model()
        own = torch.optim.Adam(alone.parameters(), 1e-2)
        net = FSDP(model(), auto_wrap_policy=policy, sharding_strategy=strategy, use_orig_params=named)
        if named:
            names = [name.replace("_fsdp_wrapped_module.", "") for name, _ in net.named_parameters()]
            assert names == [name for name, _ in alone.named_parameters()]
        opt = torch.optim.Adam(net.parameters(), 1e-2)
        assert sum(p.numel() for p in net.parameters()) <= sum(p.numel() for p in alone.parameters()) // size + 6
        train(net, opt, 4, False, lambda n: n.clip_grad_norm_(0.5))
        train(alone, own, 4, True, lambda n: nn.utils.clip_grad_norm_(n.parameters(), 0.5))
        state = net.state_dict()
        assert list(state) == list(alone.state_dict())
        for name, value in alone.state_dict().items():
            assert torch.allclose(state[name], value, rtol=1e-6), (strategy, name)
        other = FSDP(model().apply(lambda m: [p.data.zero_() for p in m.parameters()] and None), auto_wrap_policy=policy)
        other.load_state_dict(state)
        for name, value in other.state_dict().items():
            assert torch.equal(value, state[name]), name
        with torch.no_grad():
            assert torch.allclose(net(batch(9)[0]), alone(batch(9)[0]))
        net.eval()

# States on one rank alone, gradients added up before they are averaged, modules that are left out, units by hand.
for named in (False, True):
    net, alone = FSDP(model(), auto_wrap_policy=ModuleWrapPolicy([Block]), use_orig_params=named), model()
    with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        state = net.state_dict()
    assert (list(state) == list(alone.state_dict())) is (rank == 0)
    assert FSDP.get_state_dict_type(net).state_dict_type is StateDictType.FULL_STATE_DICT
    opt, own = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(alone.parameters(), 0.1)
    for step in range(3):
        x, y = batch(step)
        with net.no_sync() if step < 2 else contextlib.nullcontext():
            ((net(x[rank * EACH:(rank + 1) * EACH]) - y[rank * EACH:(rank + 1) * EACH]) ** 2).mean().backward()
        ((alone(x) - y) ** 2).mean().backward()
    opt.step()
    own.step()
    state = net.state_dict()
    for name, value in alone.state_dict().items():
        assert torch.allclose(state[name], value, rtol=1e-8), (named, name)
inside = model()
net = FSDP(inside, ignored_states=[inside[1]])
assert inside[1].up.weight.shape == (64, 16), "left out, and whole"
net(batch(0)[0]).sum().backward()
assert inside[1].up.weight.grad is not None
with enable_wrap(wrapper_cls=FSDP, use_orig_params=True):
    assert isinstance(wrap(nn.Linear(2, 2)), FSDP)
assert isinstance(wrap(nn.Linear(2, 2)), nn.Linear)

# How much memory a step takes beyond the inputs: all parameters, gradients and Adam's moments, or a share of them.
def peak(make):
    gc.collect()
    torch.memory.empty_cache()
    start = torch.memory.allocated()
    torch.memory.reset_peak()
    net, opt = make()
    train(net, opt, 3, False, dtype=torch.float32)
    gc.collect()
    resting = torch.memory.allocated() - start
    torch.memory.reset_peak()
    train(net, opt, 2, False, dtype=torch.float32)
    return resting, torch.memory.peak() - start


def whole():
    net = DDP(model(192, 8, torch.float32))
    return net, torch.optim.Adam(net.parameters())


def sharded():
    net = FSDP(model(192, 8, torch.float32), auto_wrap_policy=ModuleWrapPolicy([Block]))
    return net, torch.optim.Adam(net.parameters())


bytes_of_all = 4 * sum(p.numel() for p in model(192, 8, torch.float32).parameters())
(rest_ddp, peak_ddp), (rest_fsdp, peak_fsdp) = peak(whole), peak(sharded)
if rank == 0:
    print(f"parameters {bytes_of_all / 1e6:.1f} MB, {size} ranks: DDP {rest_ddp / 1e6:.1f} MB at rest, {peak_ddp / 1e6:.1f} at most; "
          f"FSDP {rest_fsdp / 1e6:.1f} at rest, {peak_fsdp / 1e6:.1f} at most")
if size == 1:
    assert rest_fsdp < 1.15 * rest_ddp, (rest_fsdp, rest_ddp)
else:
    assert rest_fsdp < 1.15 * 4 * bytes_of_all / size, (rest_fsdp, bytes_of_all)
    assert peak_fsdp < peak_ddp * (0.75 if size == 2 else 0.5), (peak_fsdp, peak_ddp)
print("done", rank)
