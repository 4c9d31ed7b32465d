"""Sequences to sequences with GRUs: packed batches, attention, teacher forcing by chance."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

torch.manual_seed(3)
random.seed(3)


class Encoder(nn.Module):
    def __init__(self, V, E, H):
        super().__init__()
        self.emb = nn.Embedding(V, E)
        self.gru = nn.GRU(E, H, num_layers=2, bidirectional=True, dropout=0.1)
        self.fc = nn.Linear(2 * H, H)

    def forward(self, src, lens):
        packed = pack_padded_sequence(self.emb(src), lens, enforce_sorted=False)
        out, h = self.gru(packed)
        out, L = pad_packed_sequence(out)
        return (out, torch.tanh(self.fc(torch.cat((h[-2], h[-1]), dim=1))), L)


class Attn(nn.Module):
    def __init__(self, H):
        super().__init__()
        self.attn = nn.Linear(3 * H, H)
        self.v = nn.Linear(H, 1, bias=False)

    def forward(self, hid, enc, mask):
        T = enc.shape[0]
        hid = hid.unsqueeze(1).repeat(1, T, 1)
        enc = enc.permute(1, 0, 2)
        a = self.v(torch.tanh(self.attn(torch.cat((hid, enc), dim=2)))).squeeze(2)
        return F.softmax(a.masked_fill(mask == 0, -10000000000.0), dim=1)


class Decoder(nn.Module):
    def __init__(self, V, E, H):
        super().__init__()
        self.emb = nn.Embedding(V, E)
        self.att = Attn(H)
        self.rnn = nn.GRU(2 * H + E, H)
        self.fc = nn.Linear(3 * H + E, V)
        self.drop = nn.Dropout(0.1)

    def forward(self, y, h, enc, mask):
        e = self.drop(self.emb(y.unsqueeze(0)))
        a = self.att(h, enc, mask).unsqueeze(1)
        w = torch.bmm(a, enc.permute(1, 0, 2)).permute(1, 0, 2)
        o, h = self.rnn(torch.cat((e, w), 2), h.unsqueeze(0))
        return (self.fc(torch.cat((o.squeeze(0), w.squeeze(0), e.squeeze(0)), 1)), h.squeeze(0))


V, E, H = (15, 8, 12)
enc, dec = (Encoder(V, E, H), Decoder(V, E, H))
params = list(enc.parameters()) + list(dec.parameters())
for p in params:
    nn.init.uniform_(p.data, -0.2, 0.2)
opt = torch.optim.RMSprop(
    [{"params": enc.parameters(), "lr": 0.002}, {"params": dec.parameters()}], lr=0.004, momentum=0.5
)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
for step in range(25):
    lens = torch.randint(2, 8, (6,))
    T = int(lens.max())
    src = torch.randint(1, V, (T, 6))
    mask = (torch.arange(T)[:, None] < lens).T
    src = src.masked_fill(~mask.T, 0)
    o, h, L = enc(src, lens)
    assert (lens == L).all()
    y, loss = (torch.ones(6, dtype=torch.long), 0)
    for t in range(T):
        out, h = dec(y, h, o, mask)
        loss = loss + F.nll_loss(F.log_softmax(out, -1), src[t], ignore_index=0)
        y = src[t] if random.random() < 0.5 else out.argmax(1)
    opt.zero_grad()
    (loss / T).backward()
    torch.nn.utils.clip_grad_value_(params, 0.5)
    opt.step()
    plateau.step(loss.item() / T)
    print(step, loss.item() / T, [g["lr"] for g in opt.param_groups])
lstm = nn.LSTM(4, 5, proj_size=3, num_layers=2)
seqs = [torch.randn(n, 4) for n in (4, 2, 3)]
ps = pack_sequence(seqs, enforce_sorted=False)
out, (h, c) = lstm(ps)
print(out.data.sum().item(), out.batch_sizes.tolist(), h.shape, c.sum().item(), out.sorted_indices.tolist())
