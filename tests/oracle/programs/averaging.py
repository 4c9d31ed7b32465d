"""Weights averaged over steps and epochs, chained schedules, clipped gradients."""

import torch
from torch import nn
from torch.optim.lr_scheduler import (
    ChainedScheduler,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    SequentialLR,
)
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)  # seventy steps of single precision differ from machine to machine


def make():
    return nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))


model = make()
swa = AveragedModel(model)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(200, 10), torch.randint(0, 3, (200,))), batch_size=32, shuffle=True
)
no_decay = [p for n, p in model.named_parameters() if p.ndim < 2]
decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
opt = torch.optim.SGD(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}],
    lr=0.1,
    momentum=0.9,
    nesterov=True,
)
sched = SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=5), CosineAnnealingLR(opt, T_max=20)], milestones=[5])
swa_sched = SWALR(opt, swa_lr=0.05, anneal_epochs=3)
for epoch in range(10):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        n = nn.utils.clip_grad_norm_(model.parameters(), 0.5, norm_type=2.0, error_if_nonfinite=True)
        opt.step()
        ema.update_parameters(model)
        if epoch < 6:
            sched.step()
    if epoch >= 6:
        swa.update_parameters(model)
        swa_sched.step()
    print(epoch, loss.item(), n.item(), [g["lr"] for g in opt.param_groups])
update_bn(loader, swa)
swa.eval()
ema.eval()
x = torch.randn(4, 10)
print(swa(x).tolist(), ema(x).tolist(), swa.n_averaged.item(), list(swa.state_dict())[:3])
for mk in (
    lambda o: OneCycleLR(o, 0.1, 30),
    lambda o: ChainedScheduler([ExponentialLR(o, 0.9), MultiStepLR(o, [3, 7])]),
    lambda o: CosineAnnealingWarmRestarts(o, 4, 2),
    lambda o: CyclicLR(o, 0.01, 0.1, step_size_up=4, mode="triangular2"),
    lambda o: PolynomialLR(o, 10, 2.0),
):
    p = nn.Parameter(torch.ones(1))
    o = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    s = mk(o)
    out = []
    for _ in range(15):
        o.step()
        s.step()
        out.append(round(o.param_groups[0]["lr"], 10))
    print(out)
