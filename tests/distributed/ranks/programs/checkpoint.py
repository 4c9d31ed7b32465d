"""Trains some steps, from a checkpoint if there is one, and writes one: whatever the number of ranks, the same training."""

import os
import signal
import sys

import claygrad as torch
import claygrad.distributed as dist
import claygrad.distributed.checkpoint as dcp
from claygrad import nn
from claygrad.distributed.fsdp import FullyShardedDataParallel as FSDP
from claygrad.distributed.fsdp import StateDictType
from claygrad.distributed.fsdp.wrap import always_wrap_policy

folder, first, last, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
die = len(sys.argv) > 5
dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
BATCH = 8

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(5, 11), nn.Tanh(), nn.BatchNorm1d(11, track_running_stats=False), nn.Linear(11, 3)).double()
if kind == "fsdp":
    net = FSDP(net, auto_wrap_policy=always_wrap_policy)
    FSDP.set_state_dict_type(net, StateDictType.SHARDED_STATE_DICT)
else:
    net = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.Adam(net.parameters(), 1e-2)


def step(n):
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(BATCH, 5, generator=generator, dtype=torch.float64).repeat_interleave(8, 0)     # a norm that shares do not change
    y = torch.randn(BATCH, 3, generator=generator, dtype=torch.float64).repeat_interleave(8, 0)
    x, y = x[rank::size], y[rank::size]
    opt.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    opt.step()


def state(number):
    held = FSDP.optim_state_dict(net, opt) if kind == "fsdp" else opt.state_dict()
    return {"model": net.state_dict(), "opt": held, "step": number, "note": ["text", 3]}


if first:
    for p in net.parameters():                    # the optimizer's state comes to be, to be read into
        p.grad = torch.zeros_like(p)
    opt.step()
    held = state(-1)
    dcp.load(held, checkpoint_id=folder)
    assert held["step"] == first and held["note"] == ["text", 3]
    if kind != "fsdp":
        net.load_state_dict(held["model"])
    opt.load_state_dict({"state": opt.state_dict()["state"], "param_groups": held["opt"]["param_groups"]})
for n in range(first, last):
    step(n)
if die:
    if rank == size - 1:
        import claygrad.distributed.checkpoint.files as files

        def killed(*args):
            os.kill(os.getpid(), signal.SIGKILL)

        files._settle = killed
dcp.save(state(last), checkpoint_id=folder)
if kind == "fsdp":
    FSDP.set_state_dict_type(net, StateDictType.FULL_STATE_DICT)
full = net.state_dict()
if rank == 0:
    print("sum", repr(sum(v.double().abs().sum().item() for v in full.values())))
