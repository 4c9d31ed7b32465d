"""Language models: an LSTM with tied weights and truncated backpropagation, a causal transformer with checkpoints."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(4)


class LM(nn.Module):
    def __init__(self, V=30, d=32):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.drop = nn.Dropout(0.2)
        self.rnn = nn.LSTM(d, d, 2, dropout=0.2)
        self.dec = nn.Linear(d, V)
        self.dec.weight = self.emb.weight
        nn.init.uniform_(self.emb.weight, -0.1, 0.1)

    def forward(self, x, h):
        e = self.drop(self.emb(x))
        o, h = self.rnn(e, h)
        return (F.log_softmax(self.dec(self.drop(o)).view(-1, 30), dim=1), h)

    def init_hidden(self, b):
        w = next(self.parameters())
        return (w.new_zeros(2, b, 32), w.new_zeros(2, b, 32))


def repackage(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage(v) for v in h)


m = LM()
data = torch.randint(0, 30, (41, 8))
print(
    sum(p.numel() for p in m.parameters()),
    len(list(m.parameters())),
    "dec.weight" in dict(m.named_parameters()),
    len(m.state_dict()),
)
lr = 5.0
for ep in range(3):
    h = m.init_hidden(8)
    tot = 0.0
    for i in range(0, 40, 10):
        h = repackage(h)
        m.zero_grad()
        out, h = m(data[i : i + 10], h)
        loss = F.nll_loss(out, data[i + 1 : i + 11].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 0.25)
        for p in m.parameters():
            p.data.add_(p.grad, alpha=-lr)
        tot += loss.item()
    print(ep, tot / 4, math.exp(min(tot / 4, 10)))


class Causal(nn.Module):
    def __init__(self, V=30, d=16, ck=False):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.pos = nn.Parameter(torch.zeros(1, 64, d))
        layer = nn.TransformerEncoderLayer(d, 4, 32, 0.1, "gelu", batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.head = nn.Linear(d, V, bias=False)
        self.head.weight = self.e.weight
        self.ck = ck
        nn.init.trunc_normal_(self.pos, std=0.02)

    def forward(self, x):
        L = x.shape[1]
        h = self.e(x) + self.pos[:, :L]
        mask = nn.Transformer.generate_square_subsequent_mask(L)
        for layer in self.enc.layers:
            h = checkpoint(layer, h, mask, use_reentrant=False) if self.ck else layer(h, src_mask=mask, is_causal=True)
        return self.head(self.enc.norm(h))


for ck in (False, True):
    torch.manual_seed(5)
    net = Causal(ck=ck)
    dec = {n for n, p in net.named_parameters() if p.dim() >= 2}
    opt = torch.optim.AdamW(
        [
            {"params": [p for n, p in net.named_parameters() if n in dec], "weight_decay": 0.1},
            {"params": [p for n, p in net.named_parameters() if n not in dec], "weight_decay": 0.0},
        ],
        lr=0.001,
        betas=(0.9, 0.95),
        fused=True,
    )
    for i in range(8):
        for micro in range(2):
            x = data.t()[micro * 4 : micro * 4 + 4, i : i + 13]
            lg = net(x[:, :-1])
            loss = F.cross_entropy(lg.transpose(1, 2), x[:, 1:], label_smoothing=0.1) / 2
            loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        print(ck, i, loss.item() * 2)
net.eval()
x = data.t()[:2, :5]
with torch.no_grad():
    for _ in range(5):
        lg = net(x)[:, -1] / 0.8
        v, _ = torch.topk(lg, 5)
        lg[lg < v[:, [-1]]] = -float("Inf")
        x = torch.cat((x, torch.multinomial(F.softmax(lg, -1), 1)), 1)
print(x.tolist())
