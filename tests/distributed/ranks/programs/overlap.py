"""Records a backward of DistributedDataParallel: buckets are summed while later operations of backward run."""

import json
import sys

import claygrad as torch
import claygrad.distributed as dist
from claygrad import nn
from claygrad.nn.parallel import DistributedDataParallel as DDP
from claygrad.profiler import profile

dist.init_process_group("mpi")
rank = dist.get_rank()
torch.manual_seed(0)
net = DDP(nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(400, 400), nn.ReLU())]), bucket_cap_mb=0.6)
x = torch.randn(256, 400)
for _ in range(3):
    net(x).sum().backward()
path = f"{sys.argv[1]}/trace_{rank}.json"
with profile() as recording:
    net(x).sum().backward()
recording.export_chrome_trace(path)
events = json.load(open(path))["traceEvents"]
sums = [e for e in events if e["name"].startswith("all_reduce: bucket")]
products = [e for e in events if e.get("cat") == "cpu_op" and "Backward" in e["name"] and "Accumulate" not in e["name"]]
assert len(sums) == 8, [e["name"] for e in sums]
last = max(e["ts"] + e["dur"] for e in products)
early = [e for e in sums if e["ts"] < last]
inside = [p for p in products if any(s["ts"] < p["ts"] and p["ts"] + p["dur"] < s["ts"] + s["dur"] for s in sums)]
shared = sum(min(s["ts"] + s["dur"], last) - s["ts"] for s in early)
print(f"rank {rank}: {len(early)} of {len(sums)} sums began before the last operation of backward, {len(inside)} operations ran inside a sum, "
      f"{shared / 1000:.2f} of {sum(s['dur'] for s in sums) / 1000:.2f} ms of sums beside backward")
assert len(early) >= 6
assert len(inside) >= 3
