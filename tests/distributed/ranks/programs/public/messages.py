"""As the tutorial on writing distributed applications: messages, groups, a ring of its own, gradients averaged by hand."""

import os
from math import ceil
from random import Random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def show(name, value):
    print(f"value {name}_{dist.get_rank()} {float(value):.6f}\n", end="", flush=True)


def blocking(rank, size):
    tensor = torch.zeros(1)
    if rank == 0:
        tensor += 1
        dist.send(tensor=tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor=tensor, src=0)
    show("blocking", tensor[0])


def not_blocking(rank, size):
    tensor, req = torch.zeros(1), None
    if rank == 0:
        tensor += 1
        req = dist.isend(tensor=tensor, dst=1)
    elif rank == 1:
        req = dist.irecv(tensor=tensor, src=0)
    if req is not None:
        req.wait()
    show("immediate", tensor[0])
    tensor = torch.full((2,), float(rank))
    if rank == 0:
        for _ in range(size - 1):
            source = dist.recv(tensor)                # from any rank
            assert tensor[0] == source
    else:
        dist.send(tensor, 0)


def groups(rank, size):
    group = dist.new_group([0, 1])
    tensor = torch.ones(1)
    if rank < 2:
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM, group=group)
    show("group", tensor[0])
    sub, _ = dist.new_subgroups(group_size=2) if size % 2 == 0 else (dist.group.WORLD, None)
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor, op=dist.ReduceOp.PRODUCT, group=sub)
    show("subgroup", tensor[0])
    if dist.get_rank(group) >= 0:
        assert dist.get_process_group_ranks(group) == [0, 1]


def collectives(rank, size):
    tensor = torch.arange(2.0) + rank
    out = [torch.zeros(2) for _ in range(size)] if rank == 1 else None
    dist.gather(tensor, out, dst=1)
    if rank == 1:
        show("gather", torch.cat(out).dot(torch.arange(2.0 * size)))
    dist.scatter(tensor, [torch.full((2,), float(i)) for i in range(size)] if rank == 0 else None, src=0)
    show("scatter", tensor[1])
    dist.reduce(tensor, dst=size - 1, op=dist.ReduceOp.MAX)
    if rank == size - 1:
        show("reduce", tensor[0])
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "rows": list(range(rank))})
    show("objects", sum(len(one["rows"]) for one in objects))
    first = [f"run {rank}", {"lr": 0.1 * rank}]
    dist.broadcast_object_list(first, src=1)
    assert first == ["run 1", {"lr": 0.1}]
    works = [dist.all_reduce(torch.full((3,), 1.0), async_op=True) for _ in range(3)]
    for work in works:
        work.wait()
        assert work.is_completed()
    dist.monitored_barrier()


def ring(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    send_buff, recv_buff, accum = send.clone(), send.clone(), send.clone()
    left, right = ((rank - 1) + size) % size, (rank + 1) % size
    for i in range(size - 1):
        if i % 2 == 0:
            send_req = dist.isend(send_buff, right)
            dist.recv(recv_buff, left)
            accum[:] += recv_buff[:]
        else:
            send_req = dist.isend(recv_buff, right)
            dist.recv(send_buff, left)
            accum[:] += send_buff[:]
        send_req.wait()
    recv[:] = accum[:]


def ring_of_batches(rank, size):
    recv = torch.zeros(3)
    ops = [dist.P2POp(dist.isend, torch.full((3,), float(rank)), (rank + 1) % size),
           dist.P2POp(dist.irecv, recv, (rank - 1) % size)]
    for req in dist.batch_isend_irecv(ops):
        req.wait()
    show("batch", recv.sum())
    total = torch.zeros(4)
    ring(torch.arange(4.0) * (rank + 1), total)
    show("ring", total.sum())


class Partition:
    def __init__(self, data, index):
        self.data, self.index = data, index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, index):
        return self.data[self.index[index]]


class DataPartitioner:
    def __init__(self, data, sizes, seed=1234):
        self.data, self.partitions = data, []
        rng = Random()
        rng.seed(seed)
        indexes = list(range(len(data)))
        rng.shuffle(indexes)
        for frac in sizes:
            part_len = int(frac * len(data))
            self.partitions.append(indexes[0:part_len])
            indexes = indexes[part_len:]

    def use(self, partition):
        return Partition(self.data, self.partitions[partition])


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def training(rank, size):
    torch.manual_seed(1234)
    x = torch.randn(64, 10)
    dataset = torch.utils.data.TensorDataset(x, x[:, :4].argmax(1))
    bsz = 16 // size
    partition = DataPartitioner(dataset, [1.0 / size for _ in range(size)]).use(rank)
    train_set = torch.utils.data.DataLoader(partition, batch_size=bsz, shuffle=False)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    num_batches = ceil(len(train_set.dataset) / float(bsz))
    for epoch in range(3):
        epoch_loss = 0.0
        for data, target in train_set:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        show(f"epoch{epoch}", epoch_loss / num_batches)


if __name__ == "__main__":
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    for part in (blocking, not_blocking, groups, collectives, ring_of_batches, training):
        part(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
