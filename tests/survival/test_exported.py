"""Memory that was handed out: a write that claygrad cannot see gives the right gradient or an error, never a wrong one."""

from __future__ import annotations

import gc

import numpy
import pytest

from tests.support import close, is_torch, leaf

SIZES = [3, 50_000]


def _outcome(lib, output, x, right: float) -> None:
    """Right, or an error at backward that names the export."""
    try:
        output.sum().backward()
    except RuntimeError as error:
        assert not is_torch(lib)
        assert "numpy" in str(error).lower() or "handed out" in str(error) or "exported" in str(error)
        return
    if not is_torch(lib):
        assert close(x.grad, [right] * x.numel())


EXPORTS = {
    "numpy()": lambda lib, w: w.numpy(),
    "detach().numpy()": lambda lib, w: w.detach().numpy(),
    "numpy() of a view": lambda lib, w: w.view(1, -1).numpy().reshape(-1),
    "asarray": lambda lib, w: numpy.asarray(w),
    "from_dlpack": lambda lib, w: numpy.from_dlpack(w),
    "array of data": lambda lib, w: w.data.numpy(),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("before", [True, False], ids=["exported first", "exported after"])
def test_a_constant_written_through_an_export(lib, name, size, before):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    if before:
        array = EXPORTS[name](lib, w)
        z = x * w
    else:
        z = x * w
        array = EXPORTS[name](lib, w)
    array = array if array.flags.writeable else None
    if array is not None:
        array[size // 2] = 0.0
        assert w[size // 2].item() == 0.0
    _outcome(lib, z, x, 5.0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", ["from_numpy", "as_tensor", "from_dlpack"])
def test_a_borrowed_array_written_after_the_forward(lib, make, size):
    array = numpy.full(size, 5.0, dtype=numpy.float32)
    x = lib.ones(size, requires_grad=True)
    z = x * getattr(lib, make)(array)
    array[:] = 0.0
    _outcome(lib, z, x, 5.0)


@pytest.mark.parametrize("size", SIZES)
def test_a_result_written_through_an_export(lib, size):
    x = lib.zeros(size, requires_grad=True)
    y = x.exp()
    y.detach().numpy()[:] = 9.0
    _outcome(lib, y, x, 1.0)


@pytest.mark.parametrize("size", SIZES)
def test_a_leaf_written_through_an_export(lib, size):
    x = lib.full((size,), 2.0, requires_grad=True)
    z = x * x
    x.detach().numpy()[:] = 9.0
    _outcome(lib, z, x, 4.0)


@pytest.mark.parametrize("size", SIZES)
def test_an_unseen_write_followed_by_a_seen_one(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    array = w.numpy()
    z = x * w
    array[0] = 1.0
    if is_torch(lib):
        return
    w.add_(1)
    _outcome(lib, z, x, 5.0)


@pytest.mark.parametrize("size", SIZES)
def test_a_seen_write_to_exported_memory_is_protected_as_any_other(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    array = w.numpy()
    z = x * w
    if is_torch(lib):
        return
    w.add_(1)
    assert array[0] == 6.0
    z.sum().backward()
    assert close(x.grad, [5.0] * size)


@pytest.mark.parametrize("size", SIZES)
def test_a_write_before_the_forward_counts(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    array = w.numpy()
    array[:] = 7.0
    (x * w).sum().backward()
    assert close(x.grad, [7.0] * size)


@pytest.mark.parametrize("size", SIZES)
def test_reading_an_export_is_no_offence(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    array = w.numpy()
    z = x * w
    assert array.sum() == 5.0 * size
    array[0] = array[0]
    z.sum().backward()
    assert close(x.grad, [5.0] * size)


@pytest.mark.parametrize("size", SIZES)
def test_memory_written_and_written_back_gives_the_right_gradient(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    array = w.numpy()
    z = x * w
    array[1] = 0.0
    array[1] = 5.0
    z.sum().backward()
    assert close(x.grad, [5.0] * size)


def test_an_array_outlives_its_tensor_and_a_tensor_its_array(lib):
    array = lib.full((1000,), 3.0).numpy()
    gc.collect()
    lib.zeros(1000)
    assert array.sum() == 3000.0
    tensor = lib.from_numpy(numpy.full(1000, 4.0))
    gc.collect()
    numpy.zeros(1000)
    assert tensor.sum().item() == 4000.0


def test_memory_of_an_exported_tensor_is_not_given_to_another(lib):
    arrays = [lib.full((1000,), float(i)).numpy() for i in range(50)]
    gc.collect()
    more = [lib.full((1000,), -1.0) for _ in range(50)]
    assert [a[0] for a in arrays] == [float(i) for i in range(50)]
    assert len(more) == 50


def test_training_on_borrowed_batches_is_right(lib):
    """The usual loop: one NumPy buffer is refilled for every batch, after backward."""
    buffer = numpy.zeros((4, 2), dtype=numpy.float32)
    w = leaf(lib, [[1.0], [1.0]])
    for step in range(1, 4):
        buffer[:] = step
        (lib.from_numpy(buffer) @ w).sum().backward()
    assert close(w.grad, [[24.0], [24.0]])
