"""Encoder and decoder of transformer layers learn to turn sentences round: masks, padding, a warm-up of the rate."""

import math

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(2)
PAD, BOS, EOS, V, E = (0, 1, 2, 20, 32)


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout, maxlen=100):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pe = torch.zeros((maxlen, emb_size))
        pe[:, 0::2] = torch.sin(pos * den)
        pe[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pe.unsqueeze(-2))

    def forward(self, t: Tensor):
        return self.dropout(t + self.pos_embedding[: t.size(0), :])


class S2S(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=E, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64, dropout=0.1
        )
        self.generator = nn.Linear(E, V)
        self.src = nn.Embedding(V, E, padding_idx=PAD)
        self.tgt = nn.Embedding(V, E)
        self.pe = PositionalEncoding(E, 0.1)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, src, tgt, sm, tm, sp, tp, mp):
        out = self.transformer(
            self.pe(self.src(src) * math.sqrt(E)), self.pe(self.tgt(tgt) * math.sqrt(E)), sm, tm, None, sp, tp, mp
        )
        return self.generator(out)


def masks(src, tgt):
    L = tgt.shape[0]
    tm = nn.Transformer.generate_square_subsequent_mask(L)
    sm = torch.zeros((src.shape[0], src.shape[0])).type(torch.bool)
    return (sm, tm, (src == PAD).transpose(0, 1), (tgt == PAD).transpose(0, 1))


def batch():
    seqs = [torch.randint(3, V, (int(torch.randint(3, 9, (1,))),)) for _ in range(16)]
    src = pad_sequence([torch.cat([torch.tensor([BOS]), s, torch.tensor([EOS])]) for s in seqs], padding_value=PAD)
    tgt = pad_sequence(
        [torch.cat([torch.tensor([BOS]), s.flip(0), torch.tensor([EOS])]) for s in seqs], padding_value=PAD
    )
    return (src, tgt)


model = S2S()
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
opt = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.9, 0.98), eps=1e-09)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) ** (-0.5), (s + 1) * 10 ** (-1.5)))
for step in range(40):
    src, tgt = batch()
    tin = tgt[:-1, :]
    sm, tm, sp, tp = masks(src, tin)
    logits = model(src, tin, sm, tm, sp, tp, sp)
    opt.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
    loss.backward()
    g = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 4 == 0:
        print(step, loss.item(), g.item(), sched.get_last_lr())
model.eval()
with torch.no_grad():
    src, tgt = batch()
    mem = model.transformer.encoder(model.pe(model.src(src)), src_key_padding_mask=(src == PAD).T)
    ys = torch.full((1, src.shape[1]), BOS)
    for _i in range(4):
        out = model.transformer.decoder(
            model.pe(model.tgt(ys)),
            mem,
            nn.Transformer.generate_square_subsequent_mask(ys.size(0)),
            memory_key_padding_mask=(src == PAD).T,
        )
        ys = torch.cat([ys, model.generator(out[-1]).argmax(-1, keepdim=True).T], 0)
    print(ys.tolist(), mem.abs().sum().item())
