"""How long a small message takes from one rank to another and back, and how fast a large one is."""

import time

import claygrad as torch
import claygrad.distributed as dist

dist.init_process_group("mpi")
rank = dist.get_rank()


def there_and_back(size, times):
    t = torch.zeros(size, dtype=torch.uint8)
    best = float("inf")
    for _ in range(times):
        dist.barrier()
        began = time.perf_counter()
        if rank == 0:
            dist.send(t, 1)
            dist.recv(t, 1)
        elif rank == 1:
            dist.recv(t, 0)
            dist.send(t, 0)
        best = min(best, time.perf_counter() - began)
    return best


small, large = there_and_back(8, 20), there_and_back(8_000_000, 4)
if rank == 0:
    print(f"8 bytes one way {small / 2 * 1e3:.3f} ms; 8 MB one way {large / 2 * 1e3:.1f} ms, {8e6 / (large / 2) / 1e9:.2f} GB/s")
