"""As PyTorch's ImageNet example: meters summed over ranks, a subset for the remainder, best checkpoints."""

import argparse
import os
import shutil
from enum import Enum

import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.parallel
import torch.optim
import torch.utils.data
import torch.utils.data.distributed
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Subset

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--world-size", default=-1, type=int)
parser.add_argument("--rank", default=-1, type=int)
parser.add_argument("--dist-url", default="env://", type=str)
parser.add_argument("--dist-backend", default="gloo", type=str)
parser.add_argument("--seed", default=None, type=int)
parser.add_argument("--gpu", default=None, type=int)
best_acc1 = 0


def main():
    args = parser.parse_args()
    if args.dist_url == "env://" and args.world_size == -1:
        args.world_size = int(os.environ["WORLD_SIZE"])
    args.distributed = args.world_size > 1
    ngpus_per_node = torch.cuda.device_count() if torch.accelerator.is_available() else 1
    assert ngpus_per_node >= 1
    main_worker(args)


def main_worker(args):
    global best_acc1
    if args.distributed:
        if args.dist_url == "env://" and args.rank == -1:
            args.rank = int(os.environ["RANK"])
        dist.init_process_group(backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=args.rank)
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True),
                          nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 7))
    if args.distributed:
        model = nn.parallel.DistributedDataParallel(model)
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.1)
    cudnn.benchmark = True
    generator = torch.Generator().manual_seed(0)
    images, target = torch.randn(101, 3, 6, 6, generator=generator), torch.randint(0, 7, (101,), generator=generator)
    images += target.view(-1, 1, 1, 1) * 0.3
    train_dataset, val_dataset = (torch.utils.data.TensorDataset(images[a:b], target[a:b]) for a, b in ((0, 64), (64, 101)))
    train_sampler = torch.utils.data.distributed.DistributedSampler(train_dataset) if args.distributed else None
    val_sampler = (torch.utils.data.distributed.DistributedSampler(val_dataset, shuffle=False, drop_last=True)
                   if args.distributed else None)
    train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=16 // args.world_size, shuffle=(train_sampler is None),
                                               num_workers=1, pin_memory=True, sampler=train_sampler,
                                               multiprocessing_context="forkserver")
    val_loader = torch.utils.data.DataLoader(val_dataset, batch_size=5, shuffle=False, sampler=val_sampler)
    for epoch in range(3):
        if args.distributed:
            train_sampler.set_epoch(epoch)
        train(train_loader, model, criterion, optimizer, args)
        acc1, loss = validate(val_loader, model, criterion, args)
        scheduler.step()
        is_best = acc1 > best_acc1
        best_acc1 = max(acc1, best_acc1)
        if not args.distributed or args.rank % args.world_size == 0:
            save_checkpoint({"epoch": epoch + 1, "state_dict": model.state_dict(), "best_acc1": best_acc1,
                             "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, is_best, args.folder)
            print(f"value acc{epoch} {float(acc1):.6f}\nvalue loss{epoch} {loss:.6f}")


def train(loader, model, criterion, optimizer, args):
    model.train()
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(val_loader, model, criterion, args):
    losses = AverageMeter("Loss", ":.4e", Summary.NONE)
    top1, top5 = AverageMeter("Acc@1", ":6.2f", Summary.AVERAGE), AverageMeter("Acc@5", ":6.2f", Summary.AVERAGE)

    def run_validate(loader):
        with torch.no_grad():
            for images, target in loader:
                output = model(images)
                loss = criterion(output, target)
                acc1, acc5 = accuracy(output, target, topk=(1, 5))
                losses.update(loss.item(), images.size(0))
                top1.update(acc1[0], images.size(0))
                top5.update(acc5[0], images.size(0))

    model.eval()
    run_validate(val_loader)
    if args.distributed:
        top1.all_reduce()
        top5.all_reduce()
        losses.all_reduce()
    if args.distributed and len(val_loader.sampler) * args.world_size < len(val_loader.dataset):
        aux = Subset(val_loader.dataset, range(len(val_loader.sampler) * args.world_size, len(val_loader.dataset)))
        run_validate(torch.utils.data.DataLoader(aux, batch_size=5, shuffle=False))
    assert "Acc@1" in str(top1)
    assert top5.avg >= top1.avg
    return top1.avg, losses.avg


def save_checkpoint(state, is_best, folder):
    torch.save(state, os.path.join(folder, "checkpoint.pth.tar"))
    if is_best:
        shutil.copyfile(os.path.join(folder, "checkpoint.pth.tar"), os.path.join(folder, "model_best.pth.tar"))


class Summary(Enum):
    NONE, AVERAGE, SUM, COUNT = 0, 1, 2, 3


class AverageMeter:
    def __init__(self, name, fmt=":f", summary_type=Summary.AVERAGE):
        self.name, self.fmt, self.summary_type = name, fmt, summary_type
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def all_reduce(self):
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
        total = torch.tensor([self.sum, self.count], dtype=torch.float32, device=device)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**{**self.__dict__, "val": float(self.val)})


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


if __name__ == "__main__":
    mp.freeze_support()
    main()
