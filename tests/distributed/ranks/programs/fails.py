"""One rank ends in some way while the others wait for it."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

how = sys.argv[1]
dist.init_process_group("mpi", timeout=timedelta(seconds=1.5) if how == "hang" else None)
rank = dist.get_rank()
if rank == 1:
    time.sleep(0.3)
    if how == "raise":
        raise ValueError("out of cheese")
    if how == "hang":
        time.sleep(100)
    if how == "exit":
        sys.exit(3)
    if how == "return":
        sys.exit(0)
    os.kill(os.getpid(), getattr(signal, how))
if how == "backward":
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: 1 / 0)
    x.sum().backward()
print("waits", rank, flush=True)
dist.all_reduce(torch.ones(1))
print("never", flush=True)
