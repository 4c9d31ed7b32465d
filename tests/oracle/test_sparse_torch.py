"""Sparse tensors against PyTorch's: what expressions print, what they refuse, gradients, training, files."""
from __future__ import annotations

import io
import re
import warnings

import pytest
import torch

import claygrad
from tests.oracle.sparse_expressions import GRADIENTS, REFUSED, SAME, lines


def world(library):
    i, v = library.tensor([[0, 1, 1], [2, 0, 2]]), library.tensor([3.0, 4.0, 5.0])
    make = library.sparse_coo_tensor
    x = make(i, v, (2, 3)).coalesce()
    u = make([[1, 0, 1, 0], [2, 1, 2, 1]], [1.0, 2.0, 3.0, 4.0], (2, 3))
    h = make(i, library.arange(6.0).reshape(3, 2), (2, 3, 2)).coalesce()
    return {"torch": library, "x": x, "u": u, "h": h, "c": x.to_sparse_csr(), "i": i, "v": v, "mk": make,
            "d": library.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]]),
            "m": library.tensor([[1.0, -1.0], [2.0, 0.5], [0.0, 3.0]])}


def outcome(library, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(text, world(library))
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0]
    return repr(made).replace("claygrad", "torch")


@pytest.mark.parametrize("text", lines(SAME))
def test_prints_what_pytorch_prints(text):
    assert outcome(claygrad, text) == outcome(torch, text)


@pytest.mark.parametrize("text", lines(REFUSED))
def test_refuses_what_pytorch_refuses(text):
    ours, theirs = outcome(claygrad, text), outcome(torch, text)
    assert re.match(r"\w+(Error|Exception): ", theirs), "PyTorch does it"
    assert re.match(r"\w+(Error|Exception): ", ours)
    if "Could not run" not in theirs and "memory format" not in theirs and "must match" not in theirs:
        assert ours.split(":")[0] == theirs.split(":")[0]


def scalar(library, text):
    a = library.tensor([3.0, 4.0, 5.0], dtype=library.float64, requires_grad=True)
    b = library.tensor([[1.0, -1.0], [2.0, 0.5], [0.0, 3.0]], dtype=library.float64, requires_grad=True)
    w = library.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]], dtype=library.float64, requires_grad=True)
    i = library.tensor([[0, 1, 1], [2, 0, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(text, {"torch": library, "a": a, "b": b, "w": w, "i": i,
                          "s": lambda values: library.sparse_coo_tensor(i, values, (2, 3))})
        out.backward()
    return [out.item(), *(None if x.grad is None else x.grad.to_dense().tolist() for x in (a, b, w))]


@pytest.mark.parametrize("text", lines(GRADIENTS))
def test_gradients(text):
    ours, theirs = scalar(claygrad, text), scalar(torch, text)
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-6, atol=1e-8)


def trained(library, make_model, make_optimizer):
    library.manual_seed(3)
    model = make_model(library)
    optimizer = make_optimizer(library, model.parameters())
    told = []
    for step in range(4):
        optimizer.zero_grad()
        out = model(library.tensor([[1, 1, 4], [0, step, 4]]))
        loss = (out * library.arange(float(out.numel())).reshape(out.shape)).pow(2).sum()
        loss.backward()
        grad = model.weight.grad.coalesce()
        told.append((grad.indices().tolist(), grad.values().tolist()))
        optimizer.step()
    return told, model.weight.tolist()


MODELS = {
    "embedding": lambda t: t.nn.Embedding(6, 2, sparse=True),
    "padded": lambda t: t.nn.Embedding(6, 2, sparse=True, padding_idx=1),
    "bag sum": lambda t: t.nn.EmbeddingBag(6, 2, sparse=True, mode="sum"),
    "bag mean": lambda t: t.nn.EmbeddingBag(6, 2, sparse=True),
}
OPTIMIZERS = {
    "SparseAdam": lambda t, p: t.optim.SparseAdam(list(p), lr=0.1),
    "SparseAdam, maximize": lambda t, p: t.optim.SparseAdam(list(p), lr=0.1, maximize=True),
    "SGD": lambda t, p: t.optim.SGD(p, lr=0.01),
    "SGD, momentum": lambda t, p: t.optim.SGD(p, lr=0.01, momentum=0.9),
    "Adagrad": lambda t, p: t.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_with_sparse_gradients(model, optimizer):
    ours, weights = trained(claygrad, MODELS[model], OPTIMIZERS[optimizer])
    theirs, expected = trained(torch, MODELS[model], OPTIMIZERS[optimizer])
    for (at, values), (expected_at, expected_values) in zip(ours, theirs, strict=True):
        assert at == expected_at
        torch.testing.assert_close(torch.tensor(values), torch.tensor(expected_values), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.tensor(weights), torch.tensor(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"])
def test_other_optimizers_refuse_sparse_gradients(name):
    def said(library):
        model = library.nn.Embedding(4, 2, sparse=True)
        model(library.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError) as caught:
            getattr(library.optim, name)(model.parameters()).step()
        return str(caught.value).split("\n")[0]
    assert said(claygrad) == said(torch)


@pytest.mark.parametrize("order", ["sparse, sparse", "sparse, dense", "dense, sparse"])
def test_accumulation(order):
    def grads(library):
        weight = library.arange(8.0).reshape(4, 2).requires_grad_()
        for kind in order.split(", "):
            looked_up = library.nn.functional.embedding(library.tensor([1, 3, 1]), weight, sparse=kind == "sparse")
            (looked_up * 2).sum().backward()
        return weight.grad.is_sparse, weight.grad.to_dense().tolist()
    assert grads(claygrad) == grads(torch)


@pytest.mark.parametrize("text", ["x", "u", "c", "h"])
@pytest.mark.parametrize(("writer", "reader"), [(torch, claygrad), (claygrad, torch), (claygrad, claygrad)])
def test_files(text, writer, reader):
    file = io.BytesIO()
    writer.save({"t": world(writer)[text]}, file)
    file.seek(0)
    assert repr(reader.load(file)["t"]).replace("claygrad", "torch") == repr(world(torch)[text])
