"""Meshes of ranks, several tensors in one collective, stores that ranks share, and a barrier that names who is missing."""

import sys
import time
from datetime import timedelta

import claygrad as torch
import claygrad.distributed as dist
from claygrad import nn
from claygrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from claygrad.nn.parallel import DistributedDataParallel

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()

# A mesh, by its axes.
shape = (2, size // 2) if size > 1 else (1, 1)
mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
assert mesh.shape == shape
assert (mesh.ndim, mesh.size(), mesh.size(0)) == (2, size, shape[0])
where = [rank // shape[1], rank % shape[1]]
assert mesh.get_coordinate() == tuple(where) == (mesh.get_local_rank("dp"), mesh.get_local_rank("tp"))
assert dist.get_process_group_ranks(mesh.get_group("tp")) == [where[0] * shape[1] + k for k in range(shape[1])]
assert dist.get_process_group_ranks(mesh.get_group("dp")) == [k * shape[1] + where[1] for k in range(shape[0])]
assert mesh["dp"].mesh.tolist() == dist.get_process_group_ranks(mesh.get_group("dp"))
assert mesh["dp", "tp"] is mesh
assert dist.get_process_group_ranks(mesh._flatten("all").get_group()) == list(range(size))
for axis, name in enumerate(("dp", "tp")):
    t = torch.tensor([float(where[axis])])
    dist.all_reduce(t, group=mesh.get_group(name))
    assert t.item() == sum(range(shape[axis]))
assert DeviceMesh("cpu", list(range(size))).get_group() is dist.group.WORLD
assert DeviceMesh.from_group(mesh.get_group("dp"), "cpu").size() == shape[0]
for wrong in (lambda: mesh["pp"], lambda: init_device_mesh("cpu", (size + 1,)), lambda: mesh.get_group()):
    try:
        wrong()
    except (KeyError, RuntimeError):
        continue
    raise AssertionError("not refused")
net = DistributedDataParallel(nn.Linear(2, 2), device_mesh=mesh["dp"])
net(torch.ones(1, 2) * rank).sum().backward()
assert torch.allclose(net.module.weight.grad, torch.full((2, 2), sum(dist.get_process_group_ranks(mesh.get_group("dp"))) / shape[0]))

# Several tensors in one collective.
parts = [torch.full((3,), float(rank)), torch.full((2, 2), 2.0 * rank).mT]
work = dist.all_reduce_coalesced(parts, async_op=True)
work.wait()
total = sum(range(size))
assert [p.unique().tolist() for p in parts] == [[float(total)], [2.0 * total]]
lists = [[torch.zeros(2), torch.zeros(1, dtype=torch.int64)] for _ in range(size)]
dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.tensor([rank])])
assert [[one.tolist() for one in each] for each in lists] == [[[float(r)] * 2, [r]] for r in range(size)]
with dist._coalescing_manager():
    a, b = torch.ones(2), torch.ones(3)
    dist.all_reduce(a)
    dist.all_reduce(b)
assert a.tolist() == [size] * 2
assert b.tolist() == [size] * 3
with dist._coalescing_manager(async_ops=True) as manager:
    dist.all_reduce(a)
manager.wait()
assert a.tolist() == [size * size] * 2

# Stores: in a file, and in one rank.
path = [None]
if rank == 0:
    first = dist.TCPStore("localhost", 0, size, True, wait_for_workers=False)
    path = [(sys.argv[1], first.port)]
dist.broadcast_object_list(path)
file, port = path[0]
tcp = first if rank == 0 else dist.TCPStore("localhost", port, size, False, timedelta(seconds=20))
for store in (tcp, dist.FileStore(file, size), dist.PrefixStore("inside", tcp)):
    store.set(f"rank {rank}", str(rank))
    assert store.multi_get([f"rank {r}" for r in range(size)]) == [str(r).encode() for r in range(size)]
    store.add("count", rank + 1)
    dist.barrier()
    assert store.get("count") == str(sum(range(size + 1))).encode()
    dist.barrier()
    if rank == 0:
        time.sleep(0.1)
        store.set("late", b"\x00\xff")
    assert store.get("late") == b"\x00\xff"
    dist.barrier()

# A barrier that says who did not come.
dist.monitored_barrier(timeout=timedelta(seconds=10))
if size > 1:
    try:
        if rank != 1:
            dist.monitored_barrier(timeout=timedelta(milliseconds=300))
            raise AssertionError("rank 1 did not come, and nobody says so")
    except RuntimeError as error:
        expected = "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 300 ms" if rank == 0 else "Please check rank 0 logs"
        assert expected in str(error), error
    dist.barrier()
print("done", rank, flush=True)
dist.barrier()
