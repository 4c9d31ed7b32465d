"""Ranks whose programs end at different times. One that took part may end before others have the result; one that did
not is named."""

import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
how, slow = sys.argv[1], int(sys.argv[2])
some = dist.new_group([0, 2, 3]) if size > 3 else None
t = torch.full((3,), float(rank))
if how == "collective":                     # `slow` makes no progress for a while after it began
    work = dist.all_reduce(t, async_op=True)
    if rank == slow:
        for _ in range(int(sys.argv[3])):
            work.is_completed()
            time.sleep(0.001)
        time.sleep(0.6)
    work.wait()
    assert t.tolist() == [sum(range(size))] * 3
elif how == "group":                        # rank 1 ends at once, the others go on without it
    if rank != 1:
        time.sleep(0.3 if rank == slow else 0)
        dist.all_reduce(t, group=some)
        assert t.tolist() == [5.0] * 3
elif how == "message":                      # the sender ends before the message is asked for
    if rank == 1:
        dist.isend(t, 0, tag=3)
        dist.isend(t + 1, 0, tag=4)
    elif rank == 0:
        time.sleep(0.3)
        dist.recv(t, 1, tag=4)
        assert t.tolist() == [2.0] * 3
        assert dist.recv(t, tag=3) == 1
        assert t.tolist() == [1.0] * 3
elif how == "no message":                   # nobody sends what rank 0 asks for
    if rank == 1:
        dist.send(t, 0, tag=3)
    elif rank == 0:
        dist.recv(t, None if slow else 1, tag=4)
elif how == "no receive" and rank == 0:     # too large to be sent before it is asked for
    dist.send(torch.zeros(4_000_000), 1)
print("ends", rank, flush=True)
