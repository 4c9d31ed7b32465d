"""Recurrent layers on packed sequences and twice differentiated; attention where masks and modes meet."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import claygrad

LIBRARIES = (torch, claygrad)
LENGTHS = [3, 5, 2, 5]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def close(got: Any, want: Any, what: object = "") -> None:
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 1e-8, 1e-10, err_msg=str(what))


def numbers(lib: Any, *shape: int, seed: int = 0) -> Any:
    return lib.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=lib.float64)


OPTIONS = [dict(zip(("num_layers", "bidirectional", "bias"), chosen))
           for chosen in itertools.product((1, 2), (False, True), (True, False))]


@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM", "LSTM with proj_size"])
def test_packed_sequences(name: str, options: dict[str, Any], enforce_sorted: bool):
    lengths = sorted(LENGTHS, reverse=True) if enforce_sorted else LENGTHS
    made = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        projection = {"proj_size": 2} if "proj" in name else {}
        module = getattr(lib.nn, name.split()[0])(3, 4, **options, **projection, dtype=lib.float64)
        x = numbers(lib, 5, 4, 3).requires_grad_()
        states = module.num_layers * (2 if module.bidirectional else 1)
        h = numbers(lib, states, 4, 2 if projection else 4, seed=1).requires_grad_()
        c = numbers(lib, states, 4, 4, seed=2).requires_grad_()
        packed = lib.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
        outs = []
        for hx in ((h, c) if module.mode == "LSTM" else h, None):
            out, last = module(packed, hx)
            padded, sizes = lib.nn.utils.rnn.pad_packed_sequence(out)
            outs += [padded, *(last if module.mode == "LSTM" else (last,)), sizes]
        sum((o * o).sum() for o in outs).backward()
        made.append((outs, [x.grad, h.grad, *([c.grad] if module.mode == "LSTM" else []),
                            *(p.grad for p in module.parameters())]))
    for want, got in zip(*(outs for outs, _ in made), strict=True):
        close(got, want, "output")
    for k, (want, got) in enumerate(zip(*(grads for _, grads in made), strict=True)):
        close(got, want, f"gradient {k}")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_second_derivatives(name: str, options: dict[str, Any]):
    made = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        module = getattr(lib.nn, name)(3, 4, **options, dtype=lib.float64)
        x = numbers(lib, 5, 2, 3).requires_grad_()
        inputs = [x, *module.parameters()]
        output, last = module(x)
        first = lib.autograd.grad((output ** 3).sum() + (last[1] if name == "LSTM" else last).sin().sum(), inputs,
                                  create_graph=True)
        made.append([*first, *lib.autograd.grad(sum((g * g).sum() for g in first), inputs)])
    for k, (want, got) in enumerate(zip(*made, strict=True)):
        close(got, want, k)


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_dropout_between_layers_draws_the_same_numbers(name: str):
    outs = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        module = getattr(lib.nn, name)(3, 4, num_layers=3, dropout=0.5, bidirectional=True)
        lib.manual_seed(1)
        x = lib.nn.utils.rnn.pack_sequence([lib.ones(5, 3), lib.ones(3, 3)])
        outs.append([module(lib.ones(6, 2, 3))[0], module(x)[0].data])
    for want, got in zip(*outs):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("norm", [True, False])
def test_padding_is_left_out_at_inference(norm: bool, left: bool):
    outs = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        layer = lib.nn.TransformerEncoderLayer(6, 2, 5, batch_first=True)
        encoder = lib.nn.TransformerEncoder(layer, 2, lib.nn.LayerNorm(6) if norm else None).double().eval()
        padding = lib.tensor([[False, False, False, True], [False, False, True, True]])
        with lib.no_grad():
            padded = encoder(numbers(lib, 2, 4, 6), src_key_padding_mask=padding if left else padding.flip(1))
        outs.append(padded)
    close(outs[1], outs[0])


def test_causal_masks_are_recognised():
    outs = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        model = lib.nn.Transformer(6, 2, 1, 1, 5, dropout=0.0).double()
        mask = model.generate_square_subsequent_mask(4, dtype=lib.float64)
        x = numbers(lib, 4, 2, 6)
        outs.append([mask, model(x, x, src_mask=mask, tgt_mask=mask), model(x, x, tgt_mask=mask, tgt_is_causal=True),
                     model.encoder(x, mask, is_causal=True)])
    for want, got in zip(*outs):
        close(got, want)


def test_merged_masks():
    for attention, padding in itertools.product((None, (4, 4), (6, 4, 4)), (None, (3, 4))):
        outs = []
        for lib in LIBRARIES:
            module = lib.nn.MultiheadAttention(6, 2)
            merged, kind = module.merge_masks(attention and numbers(lib, *attention), padding and numbers(lib, *padding),
                                              numbers(lib, 3, 4, 6))
            outs.append((merged, kind))
        assert outs[0][1] == outs[1][1]
        if outs[0][0] is not None:
            close(outs[1][0], outs[0][0])
