"""Hybrid sharding on four ranks: shares along one axis of a mesh, the same shares along the other."""

import sys
import warnings

import claygrad as torch
import claygrad.distributed as dist
import claygrad.distributed.checkpoint as checkpoint
from claygrad import nn
from claygrad.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from claygrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from claygrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from claygrad.distributed.fsdp import ShardingStrategy, fully_shard
from claygrad.distributed.fsdp.wrap import ModuleWrapPolicy

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
rank, size = dist.get_rank(), dist.get_world_size()
assert repr(mesh) == "DeviceMesh((replicate=2, shard=2), device: 'cpu', stride: (2, 1))"


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), nn.Linear(3, 1)).double()


def batch(step):
    torch.manual_seed(100 + step)
    return torch.randn(8, 5, dtype=torch.float64), torch.randn(8, 1, dtype=torch.float64)


def train(net, params, parts=None):
    """Five steps, of all inputs in one process or of this rank's quarter; the norms of the gradients."""
    opt = torch.optim.Adam(params, 0.05)
    norms = []
    for step in range(5):
        x, y = batch(step)
        if parts is not None:
            x, y = x.chunk(size)[rank], y.chunk(size)[rank]
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        clip = net.clip_grad_norm_ if isinstance(net, FSDP) else lambda most: nn.utils.clip_grad_norm_(params, most)
        norms.append(float(clip(0.5)))
        opt.step()
    return torch.tensor(norms)


alone = model()
norms = train(alone, list(alone.parameters()))
want = alone.state_dict()


def compare(state):
    assert list(state) == list(want)
    for name, value in state.items():
        assert torch.allclose(value, want[name], rtol=1e-9, atol=1e-12), name


# fully_shard on a mesh of two axes.
net = model()
for layer in net:
    fully_shard(layer, mesh=mesh)
fully_shard(net, mesh=mesh)
assert torch.allclose(train(net, list(net.parameters()), True), norms)
assert net[0].weight.shape[0] == (4 if mesh.get_local_rank("shard") == 0 else 3)
whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
compare(whole)
every = [None] * size
dist.all_gather_object(every, [p.to_local() for p in net.parameters()])
assert all(torch.equal(a, b) for a, b in zip(every[rank], every[(rank + 2) % size]))    # the same bits in both copies

# A checkpoint of shares that two ranks each have.
checkpoint.save(net.state_dict(), checkpoint_id=sys.argv[1])
other = model()
fully_shard(other, mesh=mesh["shard"])
state = other.state_dict()
checkpoint.load(state, checkpoint_id=sys.argv[1])
other.load_state_dict(state)
compare(get_model_state_dict(other, options=StateDictOptions(full_state_dict=True)))

# Steps between which only the ranks that share take averages.
net, plain = model(), model()
fully_shard(net, mesh=mesh)
for step in range(3):
    net.set_requires_all_reduce(step == 2)
    x, y = (t.chunk(size)[rank] for t in batch(step))
    ((net(x) - y) ** 2).mean().backward()
    assert (net[0].weight.grad is None) is (step < 2)
    ((plain(batch(step)[0]) - batch(step)[1]) ** 2).mean().backward()
rows = plain[0].weight.grad.split(4)[mesh.get_local_rank("shard")]
assert torch.allclose(net[0].weight.grad, rows, rtol=1e-9, atol=1e-12)

# The same by FullyShardedDataParallel: a mesh, two groups, the hosts; and nothing in shares.
hybrid = ShardingStrategy.HYBRID_SHARD
policy = ModuleWrapPolicy([nn.Linear])
groups = mesh.get_group("shard"), mesh.get_group("replicate")
warnings.simplefilter("ignore", FutureWarning)
for how, shares in (
    ({"sharding_strategy": hybrid, "device_mesh": mesh}, 2),
    ({"sharding_strategy": ShardingStrategy._HYBRID_SHARD_ZERO2, "process_group": groups}, 2),
    ({"sharding_strategy": hybrid}, 4),
    ({"sharding_strategy": ShardingStrategy.NO_SHARD}, 1),
    ({"sharding_strategy": ShardingStrategy.FULL_SHARD, "device_mesh": mesh["replicate", "shard"]._flatten("all")}, 4),
):
    net = model()
    if rank:
        with torch.no_grad():
            for p in net.parameters():
                p.add_(rank)
    net = FSDP(net, auto_wrap_policy=policy, sync_module_states=True, use_orig_params=shares == 4, **how)
    assert torch.allclose(train(net, list(net.parameters()), True), norms)
    compare(net.state_dict())
    kept = torch.tensor(float(sum(p.numel() for p in net.parameters())))
    dist.all_reduce(kept)
    total = sum(v.numel() for v in want.values())
    assert total * size / shares <= kept.item() <= total * size / shares + 3 * size * shares, (how, kept, total)

# Parts of a mesh, of three axes too.
cube = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("dp", "cp", "tp"))
flat = cube["dp", "cp"]._flatten()
assert flat.mesh_dim_names == ("dp_cp",)
assert flat is cube["dp", "cp"]._flatten("dp_cp")
assert cube["dp_cp"].get_group() is cube.get_group("dp_cp") is flat.get_group()
assert cube["dp_cp", "tp"].shape == (2, 2)
assert cube["dp_cp", "tp"].mesh.tolist() == mesh.mesh.tolist()
part = DeviceMesh("cpu", [[1, 3]])
for wrong, kind, text in (
    (lambda: cube["tp", "dp"], KeyError, "ascending order"),
    (lambda: cube["dp"]._flatten("tp"), ValueError, "already exists"),
    (lambda: cube["dp", "tp"]._flatten("dp_cp"), ValueError, "has been created before"),
    (lambda: fully_shard(model(), mesh=cube), ValueError, "1D or 2D DeviceMesh"),
    (lambda: FSDP(model(), sharding_strategy=hybrid), ValueError, "Manual wrapping"),
    (lambda: FSDP(model(), sharding_strategy=hybrid, device_mesh=mesh["shard"]), ValueError, "ndim=2 but got 1"),
    (lambda: FSDP(model(), sharding_strategy=hybrid, process_group=groups[0]), ValueError, "Expected process_group"),
    (lambda: FSDP(model(), device_mesh=mesh), ValueError, "ndim=1 but got 2"),
    (lambda: DeviceMesh.from_group(list(groups), "cpu"), ValueError, "Must pass mesh"),
    (lambda: DeviceMesh.from_group(groups[0], "cpu", [7, 8]), ValueError, "Invalid mesh"),
    (lambda: part.get_group(1) if rank % 2 == 0 else part["x"], RuntimeError, "rank is not in" if rank % 2 == 0 else "without mesh_dim"),
):
    try:
        wrong()
    except kind as error:
        assert text in str(error), error
        continue
    raise AssertionError(f"not refused: {text}")
print("done", rank)
