"""Every collective on every kind of tensor, compared with what NumPy makes of all ranks' values. Runs on any number of ranks."""

import math

import claygrad as torch
import claygrad.distributed as dist
from claygrad.distributed import ReduceOp

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
          torch.bool, torch.complex64, torch.complex128]


def value(of: int, shape=(3, 4), dtype=torch.float32):
    """The tensor of a rank: every rank can make those of all."""
    n = math.prod(shape)
    made = (torch.arange(n, dtype=torch.float32) % 5 + of + 1).reshape(shape)
    return made % 2 > 0 if dtype == torch.bool else made.to(dtype)


def layouts(of: int, dtype):
    yield value(of, (3, 4), dtype)
    yield value(of, (3, 4), dtype).t()                              # permuted
    yield torch.stack([value(of, (5,), dtype)] * 3, 1)[:, 1]        # with gaps
    yield value(of, (), dtype)
    yield value(of, (0, 3), dtype)
    yield value(of, (4, 4), dtype)[1:3]                             # a view of a part


def same(got, wanted, what=""):
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    assert got.dtype == wanted.dtype, (what, got.dtype, wanted.dtype)
    assert torch.equal(got, wanted), (what, rank, got, wanted)


def reduced(values, op, dtype):
    out = values[0].clone()
    for other in values[1:]:
        if dtype == torch.bool:
            out = (out | other) if op in (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.BOR) else (out ^ other) if op == ReduceOp.BXOR else out & other
        else:
            out = {ReduceOp.SUM: lambda a, b: a + b, ReduceOp.AVG: lambda a, b: a + b, ReduceOp.PRODUCT: lambda a, b: a * b,
                   ReduceOp.MIN: torch.minimum, ReduceOp.MAX: torch.maximum, ReduceOp.BAND: lambda a, b: a & b,
                   ReduceOp.BOR: lambda a, b: a | b, ReduceOp.BXOR: lambda a, b: a ^ b}[op](out, other)
    return out / size if op == ReduceOp.AVG else out


def operations(dtype):
    if dtype.is_complex:
        return [ReduceOp.SUM, ReduceOp.AVG]
    if dtype.is_floating_point:
        return [ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX]
    return [ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]


checked = 0
for dtype in DTYPES:
    every = [list(layouts(r, dtype)) for r in range(size)]
    for n in range(len(every[0])):
        values = [one[n] for one in every]
        mine = values[rank]
        for op in operations(dtype) if n < 3 else [ReduceOp.SUM]:
            for later in (False, True):
                t = list(layouts(rank, dtype))[n]
                before = t._version
                work = dist.all_reduce(t, op, async_op=later)
                if later:
                    assert work.wait() is True and work.is_completed() and work.is_success()
                else:
                    assert work is None
                same(t, reduced(values, op, dtype), (dtype, n, op, later))
                assert t._version == before + 1 and t.stride() == mine.stride()
                checked += 1
        for root in range(size):
            t = list(layouts(rank, dtype))[n]
            dist.broadcast(t, root)
            same(t, values[root])
            t = list(layouts(rank, dtype))[n]
            dist.reduce(t, root)
            same(t, reduced(values, ReduceOp.SUM, dtype) if rank == root else mine, "reduce")
            outs = [torch.empty_like(mine) for _ in range(size)] if rank == root else None
            dist.gather(mine, outs, dst=root)
            if rank == root:
                for out, wanted in zip(outs, values):
                    same(out, wanted, "gather")
            t = torch.empty_like(mine)
            dist.scatter(t, values if rank == root else None, src=root)
            same(t, mine, "scatter")
        outs = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(outs, mine)
        for out, wanted in zip(outs, values):
            same(out, wanted, "all_gather")
        whole = torch.empty((size, *mine.shape), dtype=dtype)
        dist.all_gather_single(whole, mine)
        same(whole, torch.stack(values), "all_gather_single")
        out = torch.empty_like(mine)
        dist.reduce_scatter(out, values)
        same(out, reduced([mine] * size, ReduceOp.SUM, dtype), "reduce_scatter")
        out = torch.empty_like(mine)
        dist.reduce_scatter_single(out, torch.stack(values))
        same(out, reduced([mine] * size, ReduceOp.SUM, dtype), "reduce_scatter_single")
        outs = [torch.empty_like(mine) for _ in range(size)]
        dist.all_to_all(outs, [mine] * size)
        for out, wanted in zip(outs, values):
            same(out, wanted, "all_to_all")
        checked += 1

# Rows of several sizes: rank r sends r + j + 1 rows to rank j.
sizes = [[r + j + 1 for j in range(size)] for r in range(size)]
rows = torch.arange(sum(sizes[rank]) * 2, dtype=torch.float32).reshape(-1, 2) + 100 * rank
out = torch.empty(sum(sizes[r][rank] for r in range(size)), 2)
dist.all_to_all_single(out, rows, [sizes[r][rank] for r in range(size)], sizes[rank])
wanted = [(torch.arange(sum(sizes[r]) * 2, dtype=torch.float32).reshape(-1, 2) + 100 * r).split(sizes[r])[rank] for r in range(size)]
same(out, torch.cat(wanted), "all_to_all_single")

# NaN and infinities: the same everywhere.
t = torch.tensor([float(rank), float("nan") if rank == size - 1 else 1.0, float("inf")])
dist.all_reduce(t, ReduceOp.MAX)
assert t[0] == size - 1 and torch.isnan(t[1]) and t[2] == float("inf"), t

# A factor for each rank.
t = torch.ones(3)
dist.all_reduce(t, dist._make_nccl_premul_sum(float(rank + 1)))
same(t, torch.full((3,), size * (size + 1) / 2))

# A write is an in-place write: a value that a graph needs is kept.
w = torch.full((3,), 2.0, requires_grad=True)
x = torch.full((3,), float(rank + 1))
loss = (w * x).sum()
dist.all_reduce(x)
loss.backward()
same(w.grad, torch.full((3,), float(rank + 1)), "a saved value")
view = torch.zeros(4, 3)
part = view[1]
dist.broadcast(part.copy_(torch.full((3,), float(rank))), size - 1)
same(view[1], torch.full((3,), float(size - 1)))
same(view[0], torch.zeros(3))

# Objects.
outs = [None] * size
dist.all_gather_object(outs, {"rank": rank, "tensor": value(rank)})
assert [one["rank"] for one in outs] == list(range(size))
same(outs[-1]["tensor"], value(size - 1))
outs = [None] * size if rank == 0 else None
dist.gather_object("x" * rank, outs)
assert rank or outs == ["x" * r for r in range(size)]
held = [rank, "of", rank]
dist.broadcast_object_list(held, src=size - 1)
assert held == [size - 1, "of", size - 1]
held = [None]
dist.scatter_object_list(held, [{"for": r} for r in range(size)] if rank == 0 else None)
assert held == [{"for": rank}]

# Messages, in a ring.
if size > 1:
    after, before = (rank + 1) % size, (rank - 1) % size
    t = torch.empty(3, 4).t()
    works = [dist.irecv(t, before), dist.isend(value(rank).t(), after)]
    for work in works:
        work.wait()
    same(t, value(before).t())
    got = [torch.empty(2) for _ in range(3)]
    ops = [dist.P2POp(dist.isend, torch.full((2,), float(n)), after) for n in range(3)]
    ops += [dist.P2POp(dist.irecv, one, before) for one in got]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert [one[0].item() for one in got] == [0, 1, 2]
    t = torch.empty(2)
    if rank == 0:
        for _ in range(size - 1):
            sender = dist.recv(t)
            assert t[0] == sender
    else:
        dist.send(torch.full((2,), float(rank)), 0)
    held = [None, None]
    if rank == 0:
        dist.send_object_list([1, "two"], 1)
    elif rank == 1:
        assert dist.recv_object_list(held, 0) == 0 and held == [1, "two"]

# Several works under way, in any order of waiting; futures.
tensors = [torch.full((100,), float(rank + n)) for n in range(5)]
works = [dist.all_reduce(one, async_op=True) for one in tensors]
for n, work in reversed(list(enumerate(works))):
    assert work.get_future().wait()[0] is tensors[n]
    same(tensors[n], torch.full((100,), float(sum(r + n for r in range(size)))))

# Groups.
if size > 1:
    pair = dist.new_group([0, size - 1])
    if rank in (0, size - 1):
        t = torch.ones(2)
        dist.all_reduce(t, group=pair)
        assert t[0] == 2 and dist.get_world_size(pair) == 2 and dist.get_rank(pair) == (rank > 0)
        dist.broadcast(t.fill_(rank), src=size - 1, group=pair)
        assert t[0] == size - 1
        assert dist.get_process_group_ranks(pair) == [0, size - 1] and dist.get_global_rank(pair, 1) == size - 1
    else:
        assert pair is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1
    mine, every = dist.new_subgroups(size // 2)
    t = torch.ones(1)
    dist.all_reduce(t, group=mine)
    assert t.item() == size // 2 and len(every) == 2
dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
dist.init_process_group("mpi")
t = torch.ones(1)
dist.all_reduce(t)
assert t.item() == size
print(f"rank {rank}: {checked} checked")
