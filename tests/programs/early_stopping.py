"""Workers load data that is made as it is read; a plateau lowers the rate; training stops when nothing gets better."""
import copy

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, ReduceLROnPlateau
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler, get_worker_info, random_split


class Waves(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        kind = int(torch.randint(0, 3, (), generator=generator))
        t = torch.linspace(0, 6.28, 24)
        phase = torch.rand((), generator=generator) * 6.28
        return {"wave": torch.sin((kind + 1) * t + phase) + 0.1 * torch.randn(24, generator=generator), "kind": kind}


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from (torch.full((2,), float(i)) for i in range(first, 10, step))


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.kept = patience, float("inf"), 0, None

    def __call__(self, loss, model):
        if loss < self.best - 1e-3:
            self.best, self.bad, self.kept = loss, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def main():
    torch.manual_seed(3)
    training, checking = random_split(Waves(160), [128, 32], generator=torch.Generator().manual_seed(0))
    sampler = WeightedRandomSampler(torch.ones(128).double(), 128)
    loader = DataLoader(training, batch_size=32, sampler=sampler, num_workers=2, persistent_workers=True)
    check = DataLoader(checking, batch_size=32)
    model = nn.Sequential(nn.Unflatten(1, (1, 24)), nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(6), nn.Flatten(), nn.Linear(48, 3))
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)
    plateau = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    stop = EarlyStopping(3)
    for epoch in range(8):
        model.train()
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["wave"]), batch["kind"], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            batch = next(iter(check))
            checked = nn.functional.cross_entropy(model(batch["wave"]), batch["kind"]).item()
        plateau.step(checked)
        print(f"epoch {epoch} loss {checked:.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
        if stop(checked, model):
            print("stopped early")
            break
    model.load_state_dict(stop.kept)
    print("best", round(stop.best, 4))
    print(sorted(row[0].item() for batch in DataLoader(Stream(), batch_size=2, num_workers=2) for row in batch))
    cosine = CosineAnnealingWarmRestarts(optimizer, 4, 2)
    rates = []
    for _ in range(9):
        cosine.step()
        rates.append(round(cosine.get_last_lr()[0], 6))
    print(rates)


if __name__ == "__main__":
    main()
