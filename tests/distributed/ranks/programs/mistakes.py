"""Calls that differ between ranks end in an error on all of them, that says what each rank called, and write nothing."""

import sys
from datetime import timedelta

import claygrad as torch
import claygrad.distributed as dist

dist.init_process_group("mpi", timeout=timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()


def fails(call, *words, kind=RuntimeError):
    try:
        call()
    except kind as wrong:
        for word in words:
            assert word in str(wrong), (word, str(wrong))
        return str(wrong)
    raise AssertionError(f"nothing was raised, rank {rank}")


first = rank == 0
for later in (False, True):
    def wait(work):
        if work is not None:
            work.wait()

    # sizes
    t = torch.full((3 if first else 5,), 7.0)
    told = fails(lambda: wait(dist.all_reduce(t, async_op=later)), "Detected mismatch", "rank 0: all_reduce", "3 elements", "5 elements")
    assert torch.equal(t, torch.full_like(t, 7.0)) and t._version == 0
    # dtypes
    t = torch.full((3,), 7, dtype=torch.float32 if first else torch.int32)
    fails(lambda: wait(dist.broadcast(t, 0, async_op=later)), "float32", "int32")
    assert torch.equal(t, torch.full_like(t, 7))
    # operations, roots, collectives
    t = torch.ones(3)
    fails(lambda: wait(dist.all_reduce(t, dist.ReduceOp.MAX if first else dist.ReduceOp.SUM, async_op=later)), "MAX", "SUM")
    fails(lambda: wait(dist.broadcast(t, rank, async_op=later)), "root 0", "root 1")
    fails(lambda: wait((dist.broadcast(t, 0, async_op=later)) if first else dist.barrier(async_op=later)), "broadcast", "barrier")
    fails(lambda: wait(dist.all_gather([torch.empty(2 + first) for _ in range(size)], torch.ones(2 + first), async_op=later)), "elements")
    # splits that do not fit together
    sizes = [2] * size if first else [1] * size
    fails(lambda: wait(dist.all_to_all_single(torch.empty(sum(sizes)), torch.ones(sum(sizes)), async_op=later)), "split sizes do not match")
    # and the next ones are right
    t = torch.ones(2)
    wait(dist.all_reduce(t, async_op=later))
    assert t[0] == size

# A message of another size.
t = torch.full((3,), 7.0)
if rank == 1:
    dist.send(torch.ones(5), 0)
    dist.send(torch.ones(3), 0)
elif first:
    fails(lambda: dist.recv(t, 1), "sent 20 bytes", "takes 12", "Nothing was written")
    assert torch.equal(t, torch.full((3,), 7.0))
    dist.recv(t, 1)
    assert torch.equal(t, torch.ones(3))

# Calls that are wrong on their own.
fails(lambda: dist.all_reduce(3), "Expected parameter `tensor` of type", kind=TypeError)
fails(lambda: dist.all_reduce(torch.ones(2).to_sparse()), "sparse")
fails(lambda: dist.all_reduce(torch.ones(1).expand(3)), "more than one element of the written-to tensor")
fails(lambda: dist.all_reduce(torch.ones(3, dtype=torch.complex64), dist.ReduceOp.MAX), "all_reduce does not support RedOpType.MAX", kind=ValueError)
fails(lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND), "Cannot use ReduceOp.BAND with non-integral dtype")
fails(lambda: dist.all_reduce(torch.ones(3, dtype=torch.int64), dist.ReduceOp.AVG), "result type Float can't be cast to the desired output type Long")
fails(lambda: dist.all_reduce(torch.ones(3).to(torch.float8_e4m3fn)), "Invalid scalar type")
fails(lambda: dist.all_gather([torch.ones(3)], torch.ones(3)), "invalid tensor list")
fails(lambda: dist.all_gather([torch.ones(4)] * size, torch.ones(3)), "invalid tensor size at index 0 (expected (3), got (4))")
fails(lambda: dist.all_gather([torch.ones(3).double()] * size, torch.ones(3)), "Invalid usage of tensors with different dtypes", kind=ValueError)
fails(lambda: dist.all_gather_single(torch.ones(4), torch.ones(3)), "output tensor size must be equal to world_size times input", kind=ValueError)
fails(lambda: dist.send(torch.ones(3), rank), "Invalid destination rank", kind=ValueError)
fails(lambda: dist.send(torch.ones(3), 99), "Rank 99 is out of range", kind=ValueError)
fails(lambda: dist.broadcast(torch.ones(3)), "Must specify global_rank or group_rank", kind=ValueError)
fails(lambda: dist.broadcast(torch.ones(3), 0, group_src=0), "Can't specify both group_rank and global_rank", kind=ValueError)
fails(lambda: dist.new_group([0, 99]), "Rank 99 is out of range. Valid ranks are 0 to", kind=ValueError)
fails(lambda: dist.new_group([0, 0]), "ranks list must not contain duplicate entries, got [0, 0]", kind=ValueError)
fails(lambda: dist.init_process_group("mpi"), "trying to initialize the default process group twice!", kind=ValueError)
fails(lambda: dist.P2POp(dist.all_reduce, torch.ones(1), 0), "Invalid ``op``", kind=ValueError)
fails(lambda: dist.batch_isend_irecv(3), "Invalid ``p2p_op_list``", kind=ValueError)

# Nobody comes: an error after the time, not a hang.
if first:
    fails(lambda: dist.barrier(timeout=timedelta(seconds=0.3)), "Timed out waiting 300ms for barrier", kind=dist.DistBackendError)
    fails(lambda: dist.irecv(torch.ones(1), 1).wait(timedelta(seconds=0.3)), "Timed out")
print("done", rank, flush=True)
sys.stdout.flush()
if size > 1:
    import os
    import time
    time.sleep(1 if first else 30)          # the others wait for the first to end them all
    if not first:
        os._exit(1)
    from mpi4py import MPI
    MPI.COMM_WORLD.Abort(0)                 # a barrier is under way that nobody will complete
