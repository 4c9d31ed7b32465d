"""`fully_shard`: the same training as in one process, in less memory; mixed precision; states that other numbers of ranks read."""

import gc
import sys

import claygrad as torch
import claygrad.distributed as dist
import claygrad.distributed.checkpoint as dcp
from claygrad import nn
from claygrad.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from claygrad.distributed.device_mesh import init_device_mesh
from claygrad.distributed.fsdp import FSDPModule, MixedPrecision, MixedPrecisionPolicy, fully_shard
from claygrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from claygrad.distributed.fsdp.wrap import ModuleWrapPolicy

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
EACH = 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def model(width=10, depth=3, dtype=torch.float64):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, width), *[Block(width) for _ in range(depth)], nn.Linear(width, 3)).to(dtype)


def sharded(net, inside=None, **options):
    for block in net[1:-1]:
        fully_shard(block, **(inside or options))
    return fully_shard(net, **options)


def batch(step, dtype=torch.float64):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(4 * EACH, 5, generator=generator, dtype=dtype), torch.randn(4 * EACH, 3, generator=generator, dtype=dtype)


def mine(t):
    each = len(t) // size
    return t[rank * each:(rank + 1) * each]


def train(net, opt, steps, whole, first=0, dtype=torch.float64):
    for step in range(first, first + steps):
        x, y = batch(step, dtype)
        if not whole:
            x, y = mine(x), mine(y)
        opt.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        opt.step()


# The same parameters as in one process, with parameters frozen and tied, and of fewer rows than ranks.
for reshard in (None, True, False):
    alone, net = model(), model()
    for one in (alone, net):
        one[1].norm.bias.requires_grad_(False)
        one[2].up.weight = one[3].up.weight
    names = [name for name, _ in alone.named_parameters()]
    net = fully_shard(net, reshard_after_forward=reshard)
    assert isinstance(net, FSDPModule)
    assert isinstance(net, nn.Sequential)
    assert type(net).__name__ == "FSDPSequential"
    assert [name for name, _ in net.named_parameters()] == names
    opt, own = torch.optim.Adam(net.parameters(), 1e-2), torch.optim.Adam(alone.parameters(), 1e-2)
    train(net, opt, 4, False)
    train(alone, own, 4, True)
    for (name, p), q in zip(net.named_parameters(), alone.parameters()):
        assert torch.allclose(p.full_tensor(), q, rtol=1e-8), (reshard, name)
alone, net = model(), sharded(model())
assert isinstance(net[1], FSDPModule)
opt, own = torch.optim.AdamW(net.parameters(), 1e-2), torch.optim.AdamW(alone.parameters(), 1e-2)
train(net, opt, 4, False)
train(alone, own, 4, True)
for (name, p), q in zip(net.named_parameters(), alone.parameters()):
    assert torch.allclose(p.full_tensor(), q, rtol=1e-8), name
with torch.no_grad():
    assert torch.allclose(net(batch(9)[0]), alone(batch(9)[0]))
net.unshard()
assert net[0].weight.shape == (10, 5)
net.reshard()
assert net[0].weight.shape[0] <= -(-10 // size)

# Gradients added up before they are averaged.
net.zero_grad()
alone.zero_grad()
for step in range(3):
    x, y = batch(step)
    net.set_requires_gradient_sync(step == 2)
    ((net(mine(x)) - mine(y)) ** 2).mean().backward()
    ((alone(x) - y) ** 2).mean().backward()
    assert (net[0].weight.grad is None) is (step < 2)
opt.step()
own.step()
for (name, p), q in zip(net.named_parameters(), alone.parameters()):
    assert torch.allclose(p.full_tensor(), q, rtol=1e-8), ("accumulated", name)

# The norm of gradients is that of all rows, on all ranks.
for power in (2.0, 1.0, float("inf")):
    x, y = batch(5)
    net.zero_grad()
    alone.zero_grad()
    ((net(mine(x)) - mine(y)) ** 2).mean().backward()
    ((alone(x) - y) ** 2).mean().backward()
    got, want = (nn.utils.clip_grad_norm_(one.parameters(), 0.1, power) for one in (net, alone))
    assert torch.allclose(got, want, rtol=1e-8), (power, got, want)
    low, high = net[0].weight._unit.interval(net[0].weight._index)
    assert torch.allclose(net[0].weight.grad.flatten(), alone[0].weight.grad.flatten()[low:high], rtol=1e-8), power

# States: in shares, which another number of ranks can read, and whole.
full = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
assert list(full) == list(alone.state_dict())
for name, value in alone.state_dict().items():
    assert torch.allclose(full[name], value, rtol=1e-8), name
other = sharded(model().apply(lambda m: [p.data.zero_() for p in m.parameters()] and None))
set_model_state_dict(other, full, options=StateDictOptions(full_state_dict=True))
for (name, p), q in zip(other.named_parameters(), net.named_parameters()):
    assert torch.equal(p, q[1]), name
if len(sys.argv) > 1:
    folder, what = sys.argv[1:3]
    net, first = sharded(model()), 0
    opt = torch.optim.AdamW(net.parameters(), 1e-2)
    if what == "resume":
        states = dict(zip(("model", "optim"), get_state_dict(net, opt)))
        dcp.load(states, checkpoint_id=folder)
        set_state_dict(net, opt, model_state_dict=states["model"], optim_state_dict=states["optim"])
        first = 3
    train(net, opt, 3, False, first)
    dcp.save(dict(zip(("model", "optim"), get_state_dict(net, opt))), checkpoint_id=folder)
    total = sum(p.full_tensor().sum().item() for p in net.parameters())
    if rank == 0:
        print(f"sum {total:.12f}")

# Memory that is not there yet: made on meta, sharded, then given its memory and its values.
with torch.device("meta"):
    empty = nn.Sequential(nn.Linear(5, 10), *[Block(10) for _ in range(3)], nn.Linear(10, 3)).to(torch.float64)
empty = sharded(empty).to_empty(device="cpu")
set_model_state_dict(empty, full, options=StateDictOptions(full_state_dict=True))
with torch.no_grad():
    assert torch.allclose(empty(batch(1)[0]), other(batch(1)[0]))

# Lower precision in forward and backward; shares and their updates in float32.
for make in (lambda: sharded(model(dtype=torch.float32), {"mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)},
                             mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)),
             lambda: FSDP(model(dtype=torch.float32), auto_wrap_policy=ModuleWrapPolicy([Block]),
                          mixed_precision=MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16))):
    seen = []
    net = make()
    handle = net[1].register_forward_hook(lambda m, i, o: seen.append((i[0].dtype, o.dtype)))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    x, y = (mine(t) for t in batch(0, torch.float32))
    out = net(x)
    ((out.float() - y) ** 2).mean().backward()
    opt.step()
    assert seen[0] == (torch.bfloat16, torch.bfloat16), seen
    assert out.dtype is (torch.float32 if not isinstance(net, FSDP) else torch.bfloat16), out.dtype
    assert all(p.dtype is p.grad.dtype is torch.float32 for p in net.parameters())
    alone = model(dtype=torch.float32)
    own = torch.optim.SGD(alone.parameters(), 1e-2)
    train(alone, own, 1, True, 0, torch.float32)
    wholes = [p.full_tensor() for p in net.parameters()] if not isinstance(net, FSDP) else net.state_dict().values()
    for p, q in zip(wholes, alone.parameters()):
        assert (p - q).abs().max() < 2e-3

# A mesh of one axis says which ranks share.
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("dp",))
net = fully_shard(nn.Linear(4, 4), mesh=mesh["dp"])
assert net(torch.ones(1, 4)).shape == (1, 4)


# How much memory a step takes: a share of parameters, gradients and moments, and one block whole.
def peak(make):
    gc.collect()
    torch.memory.empty_cache()
    start = torch.memory.allocated()
    net, opt = make()
    train(net, opt, 3, False, dtype=torch.float32)
    gc.collect()
    resting = torch.memory.allocated() - start
    torch.memory.reset_peak()
    train(net, opt, 2, False, dtype=torch.float32)
    return resting, torch.memory.peak() - start


def whole():
    net = model(192, 8, torch.float32)
    return net, torch.optim.Adam(net.parameters())


def parts():
    net = sharded(model(192, 8, torch.float32))
    return net, torch.optim.Adam(net.parameters())


(rest, most), (rest_parts, most_parts) = peak(whole), peak(parts)
if rank == 0:
    print(f"{size} ranks: whole {rest / 1e6:.1f} MB between steps, {most / 1e6:.1f} at most; "
          f"fully_shard {rest_parts / 1e6:.1f}, {most_parts / 1e6:.1f}")
if size > 1:
    assert rest_parts < 1.15 * rest / size, (rest_parts, rest)
    assert most_parts < most * (0.8 if size == 2 else 0.55), (most_parts, most)
print("done", rank)
