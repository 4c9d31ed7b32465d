"""As nanoGPT's train.py: with and without torchrun, micro-steps that synchronise at the last one, a warm-up and a cosine."""

import math
import os
from contextlib import nullcontext

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

gradient_accumulation_steps, batch_size, block_size, max_iters = 8, 4, 16, 8
learning_rate, min_lr, warmup_iters, weight_decay, grad_clip = 1e-2, 1e-3, 2, 0.1, 1.0
dtype = os.environ.get("DTYPE", "float32")

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="gloo")
    ddp_rank, ddp_local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    master_process, seed_offset = ddp_rank == 0, ddp_rank
    assert gradient_accumulation_steps % ddp_world_size == 0
    gradient_accumulation_steps //= ddp_world_size
else:
    master_process, seed_offset, ddp_world_size, ddp_rank = True, 0, 1, 0
torch.manual_seed(1337 + seed_offset)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
device_type = "cpu"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if dtype == "float32" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)
data = torch.randint(0, 24, (2000,), generator=torch.Generator().manual_seed(3))
data[1:] = (data[:-1] * 5 + 3) % 24


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd, bias=False), nn.Linear(n_embd, n_embd, bias=False)
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab=24, n_embd=16, n_head=2, n_layer=2):
        super().__init__()
        self.transformer = nn.ModuleDict({"wte": nn.Embedding(vocab, n_embd), "wpe": nn.Embedding(block_size, n_embd),
                                          "h": nn.ModuleList([Block(n_embd, n_head) for _ in range(n_layer)]),
                                          "ln_f": nn.LayerNorm(n_embd)})
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        for p in self.parameters():
            if p.dim() > 1:
                torch.nn.init.normal_(p, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        x = self.transformer.wte(idx) + self.transformer.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizers(self):
        params = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [{"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": weight_decay},
                  {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))


def get_batch(step, micro):
    """The same rows for any number of ranks: micro-steps are dealt out in turn."""
    generator = torch.Generator().manual_seed(1000 * step + micro * ddp_world_size + ddp_rank)
    ix = torch.randint(len(data) - block_size - 1, (batch_size,), generator=generator)
    return (torch.stack([data[i : i + block_size] for i in ix]), torch.stack([data[i + 1 : i + 1 + block_size] for i in ix]))


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * (it - warmup_iters) / (max_iters - warmup_iters))) * (learning_rate - min_lr)


torch.manual_seed(11)
model = GPT()
scaler = torch.amp.GradScaler(device_type, enabled=(dtype == "float16"))
optimizer = model.configure_optimizers()
if ddp:
    model = DDP(model)
raw_model = model.module if ddp else model
for iter_num in range(max_iters):
    for param_group in optimizer.param_groups:
        param_group["lr"] = get_lr(iter_num)
    total = 0.0
    for micro_step in range(gradient_accumulation_steps):
        X, Y = get_batch(iter_num, micro_step)
        if ddp:
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
        with ctx:
            _, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        total += loss.detach()
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    if ddp:
        torch.distributed.all_reduce(total, op=torch.distributed.ReduceOp.AVG)
    if master_process:
        print(f"value loss{iter_num} {total.item():.6f}\nvalue norm{iter_num} {norm.item():.6f}")
if master_process:
    print(f"value sum {sum(p.double().abs().sum().item() for p in raw_model.parameters()):.6f}")
if ddp:
    destroy_process_group()
