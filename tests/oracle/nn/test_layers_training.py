"""Small models trained beside PyTorch's, and the methods that layers have besides forward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import claygrad

LIBRARIES = (torch, claygrad)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 1e-8, 1e-10)




def mlp(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(12, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 3))


def normed(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.PReLU(), nn.Linear(16, 3))


def cnn(nn: Any) -> Any:
    return nn.Sequential(nn.Unflatten(1, (3, 2, 2)), nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Dropout2d(0.1), nn.Flatten(), nn.Linear(8, 3))


def generator(nn: Any) -> Any:
    return nn.Sequential(nn.Unflatten(1, (3, 2, 2)), nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), nn.GroupNorm(2, 4), nn.SiLU(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(3))


def recurrent(name: str) -> Callable[[Any], Any]:
    def make(nn: Any) -> Any:
        return nn.Sequential(nn.Unflatten(1, (4, 3)), getattr(nn, name)(3, 5, num_layers=2, dropout=0.1, batch_first=True))
    return make


def transformer(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.1, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (3, 4)), nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(12, 3))


MODELS = {"mlp": mlp, "normed": normed, "cnn": cnn, "generator": generator, "RNN": recurrent("RNN"), "GRU": recurrent("GRU"),
          "LSTM": recurrent("LSTM"), "transformer": transformer}


@pytest.mark.parametrize("name", MODELS)
def test_fifty_steps_give_the_same_losses(name: str):
    curves, ends = [], []
    for lib in LIBRARIES:
        lib.manual_seed(4)
        model = MODELS[name](lib.nn).double()
        x, y = lib.randn(20, 12, dtype=lib.float64), lib.randint(0, 3, (20,))
        model(x)
        losses = []
        for _ in range(50):
            out = model(x)
            out = out[0][:, -1, :3] if isinstance(out, tuple) else out
            loss = lib.nn.CrossEntropyLoss(label_smoothing=0.05)(out, y)
            model.zero_grad()
            loss.backward()
            with lib.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
            losses.append(loss.item())
        curves.append(losses)
        ends.append(model.state_dict())
    np.testing.assert_allclose(curves[1], curves[0], 1e-7)
    for key, want in ends[0].items():
        np.testing.assert_allclose(ends[1][key].numpy(), want.numpy(), 1e-6, 1e-8, err_msg=key)


# Methods besides forward

def test_adaptive_softmax_predicts_the_same():
    made = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        module = lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9], div_value=2.0).double()
        x = 5 * lib.randn(30, 8, dtype=lib.float64)
        made.append([module.log_prob(x), module.predict(x), module.predict(x[:1]), module.predict(x * 0)])
        module.reset_parameters()
        made[-1].append(module.head.weight)
    for want, got in zip(*made):
        close(got, want)


@pytest.mark.parametrize(("layer", "options"), [
    ("Embedding", {}), ("Embedding", {"freeze": False, "padding_idx": 1, "max_norm": 2.0}),
    ("EmbeddingBag", {}), ("EmbeddingBag", {"freeze": False, "mode": "sum", "padding_idx": -1}),
])
def test_embeddings_from_a_table(layer: str, options: dict[str, Any]):
    made = []
    for lib in LIBRARIES:
        table = lib.arange(12, dtype=lib.float64).reshape(4, 3)
        module = getattr(lib.nn, layer).from_pretrained(table, **options)
        assert module.weight.data_ptr() == table.data_ptr()
        made.append((repr(module), module.weight.requires_grad, module.weight, module(lib.tensor([[1, 2], [3, 0]]))))
    (text, grad, *tensors), (our_text, our_grad, *our_tensors) = made
    assert (our_text, our_grad) == (text, grad)
    for want, got in zip(tensors, our_tensors):
        close(got, want)


def test_batch_norms_become_synchronised_ones():
    texts = []
    for lib in LIBRARIES:
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Sequential(lib.nn.BatchNorm1d(4), lib.nn.ReLU()))
        weight = model[1][0].weight
        made = lib.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        assert made[1][0].weight is weight
        texts.append((repr(made), list(made.state_dict())))
    assert texts[0] == texts[1]


def test_states_of_older_batch_norms_load():
    for lib in LIBRARIES:
        module = lib.nn.BatchNorm1d(3)
        state = {key: value for key, value in module.state_dict().items() if key != "num_batches_tracked"}
        module.num_batches_tracked.fill_(5)
        module.load_state_dict(dict(state))
        assert module.num_batches_tracked.item() == 5


def test_stale_statistics_of_instance_norms_are_refused():
    texts = []
    for lib in LIBRARIES:
        state = dict(lib.nn.InstanceNorm1d(3, track_running_stats=True).state_dict())
        with pytest.raises(RuntimeError) as caught:
            lib.nn.InstanceNorm1d(3).load_state_dict(state)
        texts.append(str(caught.value).partition("\n  at ")[0])       # below it, claygrad names the line and the way out
    assert texts[0] == texts[1]


def test_prefixes_of_states_are_consumed():
    made = []
    for lib in LIBRARIES:
        state = lib.nn.Sequential(lib.nn.ModuleDict({"module": lib.nn.Linear(1, 1)})).state_dict()
        lib.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "0.module.")
        made.append((sorted(state), sorted(state._metadata)))
    assert made[0] == made[1]


def test_parameters_of_recurrent_layers_by_layer():
    made = []
    for lib in LIBRARIES:
        module = lib.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
        module.flatten_parameters()
        made.append([[tuple(p.shape) for p in own] for own in module.all_weights])
        assert all(a is b for a, b in zip(module._flat_weights, module.parameters(), strict=True))
    assert made[0] == made[1]
