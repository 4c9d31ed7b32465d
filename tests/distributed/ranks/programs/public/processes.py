"""As the tutorial on writing distributed applications starts its ranks: processes of its own."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, size):
    tensor = torch.ones(1)
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    print("Rank ", rank, " has data ", tensor[0])


def init_process(rank, size, fn, backend="gloo"):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)


if __name__ == "__main__":
    mp.set_start_method("spawn")
    processes = [mp.Process(target=init_process, args=(rank, 2, run)) for rank in range(2)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    raise SystemExit(max(p.exitcode for p in processes))
