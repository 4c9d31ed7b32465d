"""As minGPT's trainer for several processes: what torchrun tells a rank, a sampler for each, snapshots that resume."""

import argparse
import os
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, random_split
from torch.utils.data.distributed import DistributedSampler

TEXT = "the rain in spain stays mainly in the plain and the train in maine remains in the same lane " * 4


class CharDataset(Dataset):
    def __init__(self, text, block_size):
        chars = sorted(set(text))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.text, self.block_size, self.vocab_size = text, block_size, len(chars)

    def __len__(self):
        return len(self.text) - self.block_size

    def __getitem__(self, at):
        chunk = torch.tensor([self.stoi[ch] for ch in self.text[at : at + self.block_size + 1]], dtype=torch.long)
        return chunk[:-1], chunk[1:]


class Block(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.register_buffer("mask", torch.triu(torch.ones(block_size, block_size, dtype=torch.bool), 1))
        self.attn = nn.MultiheadAttention(n_embd, n_head, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        y, n = self.ln1(x), x.size(1)
        x = x + self.attn(y, y, y, attn_mask=self.mask[:n, :n], need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer=2, n_head=2, n_embd=16):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, block_size, n_embd))
        self.blocks = nn.Sequential(*[Block(n_embd, n_head, block_size) for _ in range(n_layer)])
        self.ln_f, self.head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.02)

    def forward(self, idx, targets):
        logits = self.head(self.ln_f(self.blocks(self.tok_emb(idx) + self.pos_emb[:, : idx.size(1)])))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


@dataclass
class Snapshot:
    model_state: "dict[str, torch.Tensor]"
    optimizer_state: "dict[str, Any]"
    finished_epoch: int


class Trainer:
    def __init__(self, config, model, optimizer, train_set, test_set):
        self.config, self.epochs_run = config, 0
        self.local_rank, self.global_rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
        self.train_loader, self.test_loader = self._loader(train_set), self._loader(test_set)
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cpu", enabled=config.amp)
        self._load_snapshot()
        self.model = DDP(self.model)

    def _loader(self, dataset):
        return DataLoader(dataset, batch_size=8, pin_memory=True, shuffle=False, num_workers=self.config.workers,
                          sampler=DistributedSampler(dataset))

    def _load_snapshot(self):
        try:
            with open(self.config.snapshot, "rb") as file:
                snapshot = Snapshot(**torch.load(file, map_location="cpu"))
        except FileNotFoundError:
            print("Snapshot not found. Training model from scratch\n", end="")
            return
        self.model.load_state_dict(snapshot.model_state)
        self.optimizer.load_state_dict(snapshot.optimizer_state)
        self.epochs_run = snapshot.finished_epoch
        print(f"Resuming training from snapshot at Epoch {self.epochs_run}\n", end="")

    def _batch(self, source, targets, train):
        with torch.set_grad_enabled(train), torch.amp.autocast("cpu", dtype=torch.bfloat16, enabled=self.config.amp):
            _, loss = self.model(source, targets)
        if train:
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return loss.item()

    def _epoch(self, epoch, loader, train=True):
        loader.sampler.set_epoch(epoch)
        return sum(self._batch(source, targets, train) for source, targets in loader) / len(loader)

    def train(self, max_epochs):
        for epoch in range(self.epochs_run + 1, max_epochs + 1):
            loss = self._epoch(epoch, self.train_loader)
            if self.local_rank == 0:
                raw = self.model.module if hasattr(self.model, "module") else self.model
                torch.save(asdict(Snapshot(raw.state_dict(), self.optimizer.state_dict(), epoch)), self.config.snapshot)
            test = self._epoch(epoch, self.test_loader, train=False)
            total = sum(p.double().abs().sum().item() for p in self.model.parameters())
            print(f"[{self.global_rank}] epoch {epoch} train {loss:.6f} test {test:.6f} sum {total:.9f}\n", end="")


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("epochs", type=int)
    parser.add_argument("snapshot")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--amp", action="store_true")
    config = parser.parse_args()
    init_process_group(backend=torch.distributed.get_default_backend_for_device("cpu"))
    torch.manual_seed(0)
    dataset = CharDataset(TEXT, 12)
    train_len = int(len(dataset) * 0.9)
    train_set, test_set = random_split(dataset, [train_len, len(dataset) - train_len])
    model = GPT(dataset.vocab_size, dataset.block_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    Trainer(config, model, optimizer, train_set, test_set).train(config.epochs)
    destroy_process_group()


if __name__ == "__main__":
    main()
