"""As the usual script for torchrun: a sampler for each rank, DDP, metrics summed over ranks, rank 0 writes checkpoints."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.bn = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.bn(self.conv2(x))), 2)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def images(n, seed):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=generator)
    x = torch.randn(n, 1, 8, 8, generator=generator) + F.one_hot(y, 64).view(n, 1, 8, 8).float() * 4
    return TensorDataset(x, y)


def train(model, loader, optimizer, epoch, device):
    model.train()
    seen = torch.zeros(2, device=device)
    loader.sampler.set_epoch(epoch)
    for data, target in loader:
        data, target = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target, reduction="sum")
        loss.backward()
        optimizer.step()
        seen[0] += loss.item()
        seen[1] += len(data)
    dist.all_reduce(seen, op=dist.ReduceOp.SUM)
    return seen[0] / seen[1]


@torch.no_grad()
def test(model, loader, device):
    model.eval()
    seen = torch.zeros(3, device=device)
    for data, target in loader:
        output = model(data.to(device))
        seen[0] += F.nll_loss(output, target.to(device), reduction="sum").item()
        seen[1] += output.argmax(dim=1, keepdim=True).eq(target.view(-1, 1)).sum().item()
        seen[2] += len(data)
    dist.all_reduce(seen)
    return seen[0] / seen[2], seen[1] / seen[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--sync-bn", action="store_true")
    args = parser.parse_args()
    local_rank, rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend=backend)
    assert (dist.get_rank(), dist.get_world_size()) == (rank, world_size)
    device = torch.device(f"cuda:{local_rank}") if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(7 + rank)                       # DDP sends rank 0's parameters to all
    sampler = DistributedSampler(images(128, 0), num_replicas=world_size, rank=rank, shuffle=True, drop_last=True)
    loader = DataLoader(sampler.dataset, batch_size=32 // world_size, sampler=sampler, num_workers=0, pin_memory=True)
    held_out = images(64, 1)
    test_loader = DataLoader(held_out, batch_size=16, sampler=DistributedSampler(held_out, shuffle=False))
    model = Net().to(device)
    if args.sync_bn:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[local_rank] if torch.cuda.is_available() else None)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    path = os.path.join(args.folder, "checkpoint.pt")
    for epoch in range(args.epochs):
        loss = train(model, loader, optimizer, epoch, device)
        test_loss, accuracy = test(model, test_loader, device)
        scheduler.step()
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
            print(f"value train{epoch} {loss.item():.7f}\nvalue test{epoch} {test_loss.item():.7f}\n"
                  f"value accuracy{epoch} {accuracy.item():.7f}", flush=True)
        dist.barrier()
        held = torch.load(path, map_location={"cuda:0": f"cuda:{local_rank}"}, weights_only=True)
        for name, value in model.module.state_dict().items():
            assert name.startswith("bn.") or torch.equal(value, held["model"][name]), name
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
