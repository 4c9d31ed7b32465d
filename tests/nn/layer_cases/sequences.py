"""Recurrent layers and cells, attention and transformers."""

from __future__ import annotations

from tests.nn.layer_cases.specs import Case, Layer, Named, layer, mask, normal


def recurrent(name: str) -> list[Case]:
    x, alone = normal(5, 2, 3), normal(5, 3)
    two = name == "LSTM"

    def state(*shape: int, project: int = 0):
        h = normal(*shape[:-1], project or shape[-1])
        return (h, normal(*shape)) if two else h
    made = [
        layer(name, 3, 4).on(x), layer(name, 3, 4, bias=False).on(x, state(1, 2, 4)),
        layer(name, 3, 4, 2, batch_first=True).on(x, state(2, 5, 4)), layer(name, 3, 4, 2, bidirectional=True).on(x),
        layer(name, 3, 4, num_layers=2, bidirectional=True, batch_first=True, bias=False).on(x, state(4, 5, 4)),
        layer(name, 3, 4, num_layers=3, dropout=0.4, random=True).on(x),
        layer(name, 3, 4, num_layers=2, dropout=0.4, bidirectional=True, batch_first=True, random=True).on(x),
        layer(name, 3, 4).on(alone), layer(name, 3, 4, 2, batch_first=True).on(alone, state(2, 4)),
    ]
    if two:
        made += [layer(name, 3, 4, proj_size=2).on(x), layer(name, 3, 4, 2, bidirectional=True, proj_size=3, bias=False).on(
            x, state(4, 2, 4, project=3))]
    return made


QUERY, KEY = normal(4, 2, 6), normal(5, 2, 6)

cells = [
    *[layer(name, 3, 4).on(normal(2, 3)) for name in ("RNNCell", "LSTMCell", "GRUCell")],
    *[layer(name, 3, 4, bias=False).on(normal(3)) for name in ("RNNCell", "LSTMCell", "GRUCell")],
    layer("RNNCell", 3, 4, nonlinearity="relu").on(normal(2, 3), normal(2, 4)),
    layer("GRUCell", 3, 4).on(normal(3), normal(4)),
    layer("LSTMCell", 3, 4).on(normal(2, 3), (normal(2, 4), normal(2, 4))),
    layer("LSTMCell", 3, 4).on(normal(3), (normal(4), normal(4))),
]

attention = [
    layer("MultiheadAttention", 6, 2).on(QUERY, KEY, KEY), layer("MultiheadAttention", 6, 3).on(normal(4, 6), normal(5, 6), normal(5, 6)),
    layer("MultiheadAttention", 6, 2, bias=False).on(QUERY, KEY, normal(5, 2, 6), need_weights=False),
    layer("MultiheadAttention", 6, 2, batch_first=True).on(QUERY, normal(4, 3, 6), normal(4, 3, 6)),
    layer("MultiheadAttention", 6, 2, add_bias_kv=True).on(QUERY, KEY, KEY, key_padding_mask=mask(2, 5)),
    layer("MultiheadAttention", 6, 2, add_zero_attn=True).on(QUERY, KEY, KEY, average_attn_weights=False),
    layer("MultiheadAttention", 6, 2, add_zero_attn=True, add_bias_kv=True).on(QUERY, KEY, KEY, attn_mask=mask(4, 5)),
    layer("MultiheadAttention", 6, 2, kdim=3, vdim=4).on(QUERY, normal(5, 2, 3), normal(5, 2, 4)),
    layer("MultiheadAttention", 6, 2, kdim=3).on(QUERY, normal(5, 2, 3), normal(5, 2, 6), need_weights=False),
    layer("MultiheadAttention", 6, 2).on(QUERY, KEY, KEY, attn_mask=mask(4, 4, 5)),
    layer("MultiheadAttention", 6, 2).on(QUERY, KEY, KEY, attn_mask=normal(4, 5), key_padding_mask=normal(2, 5, grad=False)),
    layer("MultiheadAttention", 6, 2, dropout=0.3, random=True).on(QUERY, KEY, KEY),
    layer("MultiheadAttention", 6, 2, dropout=0.3, random=True).on(QUERY, KEY, KEY, need_weights=False),
]

SRC, TGT = normal(4, 2, 6), normal(3, 2, 6)
small = {"d_model": 6, "nhead": 2, "dim_feedforward": 5}
ENCODER = Layer("TransformerEncoderLayer", (6, 2, 5, 0.0))
BATCHED = Layer("TransformerEncoderLayer", (6, 2, 5, 0.0), {"batch_first": True})
DECODER = Layer("TransformerDecoderLayer", (6, 2, 5, 0.0))

transformers = [
    layer("TransformerEncoderLayer", **small, random=True).on(SRC),
    layer("TransformerEncoderLayer", **small, dropout=0.0, norm_first=True, activation="gelu").on(SRC, src_mask=mask(4, 4)),
    layer("TransformerEncoderLayer", **small, dropout=0.0, batch_first=True).on(SRC, src_key_padding_mask=mask(4, 2)),
    layer("TransformerEncoderLayer", **small, dropout=0.0, bias=False, layer_norm_eps=1e-3).on(normal(4, 6)),
    layer("TransformerEncoderLayer", **small, dropout=0.0, activation=Named("nn.functional.silu")).on(SRC),
    layer("TransformerEncoderLayer", **small, dropout=0.0, activation=Layer("Tanh")).on(SRC),
    layer("TransformerDecoderLayer", **small, random=True).on(TGT, SRC),
    layer("TransformerDecoderLayer", **small, dropout=0.0, norm_first=True).on(
        TGT, SRC, tgt_mask=mask(3, 3), memory_mask=mask(3, 4), tgt_key_padding_mask=mask(2, 3), memory_key_padding_mask=mask(2, 4)),
    layer("TransformerDecoderLayer", **small, dropout=0.0, batch_first=True, bias=False, activation="gelu").on(TGT, normal(3, 4, 6)),
    layer("TransformerEncoder", ENCODER, 2).on(SRC), layer("TransformerEncoder", ENCODER, 2, Layer("LayerNorm", (6,))).on(
        SRC, src_key_padding_mask=mask(2, 4)),
    layer("TransformerEncoder", BATCHED, 2).on(SRC, src_key_padding_mask=mask(4, 2)),
    layer("TransformerDecoder", DECODER, 2, Layer("LayerNorm", (6,))).on(TGT, SRC), layer("TransformerDecoder", DECODER, 1).on(TGT, SRC),
    layer("Transformer", 6, 2, 2, 1, 5, random=True).on(SRC, TGT),
    layer("Transformer", 6, 2, 1, 1, 5, 0.0, batch_first=True, norm_first=True).on(SRC, normal(4, 3, 6), tgt_mask=mask(3, 3)),
    layer("Transformer", 6, 2, 1, 1, 5, 0.0, bias=False, activation="gelu").on(normal(4, 6), normal(3, 6)),
]

CASES = [
    *recurrent("RNN"), *recurrent("GRU"), *recurrent("LSTM"),
    layer("RNN", 3, 4, nonlinearity="relu").on(normal(5, 2, 3)), layer("RNN", 3, 4, 2, "relu", False).on(normal(5, 2, 3)),
    *cells, *attention, *transformers,
]
