"""accelerate: a training loop prepared by Accelerator, with accumulation, clipping, a schedule, saved and restored state."""
import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from report import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    set_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    x = torch.randn(64, 5)
    data = DataLoader(TensorDataset(x, x.sum(-1, keepdim=True).tanh()), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 16)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    losses = []
    for epoch in range(2):
        for inputs, targets in data:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    tell("losses", losses)
    tell("rate", schedule.get_last_lr())
    tell("gathered", accelerator.gather_for_metrics(model(x[:4])))
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        before = model[0].weight.detach().clone()
        with torch.no_grad():
            model[0].weight.zero_()
        accelerator.load_state(folder)
        tell("restored", bool((model[0].weight == before).all()))
        accelerator.save_model(model, folder)
    with init_empty_weights():
        empty = nn.Linear(1000, 1000)
    tell("empty", str(empty.weight.device))


main()
