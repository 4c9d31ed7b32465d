"""A packed value that leads to live memory is unpacked as it was, whatever was written since; torch promises less."""

from __future__ import annotations

import gc
import weakref

import pytest

import claygrad
from tests.autograd.test_saved_tensor_hooks import HOOKS, OURS, PROGRAMS, double, run
from tests.support import close


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("hooks", OURS)
def test_hooks_around_operations_in_place(lib, hooks, program):
    made, expected = PROGRAMS[program]
    assert close(run(lib, *OURS[hooks], made), expected)


@pytest.mark.parametrize("hooks", {**HOOKS, **OURS})
def test_a_write_after_the_save(lib, hooks):
    pack, unpack = {**HOOKS, **OURS}[hooks]
    unpack = unpack or (lambda a: lib.from_numpy(a))
    x = double(lib, 1.0, 2.0)
    y = x * 1
    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = y * y
    y.data.zero_()
    y.add_(5)
    z.sum().backward()
    assert close(x.grad, [2.0, 4.0])


def test_a_copy_keeps_nothing_of_the_memory_that_was_saved(lib):
    x = double(lib, 1.0, 2.0)
    with lib.autograd.graph.save_on_cpu():
        y = x * 1
        z = y * y
    storage = weakref.ref(y.untyped_storage())
    del y
    gc.collect()
    assert storage() is None
    z.sum().backward()
    assert close(x.grad, [2.0, 4.0])


def test_a_list_that_contains_itself_can_be_packed(lib):
    def pack(t):
        box = [t.clone()]
        box.append(box)
        return box

    x = double(lib, 1.0, 2.0)
    with lib.autograd.graph.saved_tensors_hooks(pack, lambda box: box[0]):
        z = x * x
    with lib.no_grad():
        x.zero_()
    z.sum().backward()
    assert close(x.grad, [2.0, 4.0])


@pytest.mark.parametrize("packed", ["itself", "a view"])
@pytest.mark.parametrize("change", ["data", "set_", "t_", "unsqueeze_"])
def test_a_packed_tensor_that_is_given_other_memory_or_another_shape(packed, change):
    x = claygrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = x * 2
    pack = (lambda t: t) if packed == "itself" else (lambda t: t.view(2, 3))
    with claygrad.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        z = y.square().sum()
    with claygrad.no_grad():
        if change == "data":
            y.data = claygrad.zeros(2, 3)
        elif change == "set_":
            y.detach().set_(claygrad.zeros(2, 3))
            y.set_(claygrad.zeros(2, 3))
        elif change == "t_":
            y.t_()
        else:
            y.unsqueeze_(0)
    z.backward()
    assert x.grad.tolist() == [[8, 16, 24], [32, 40, 48]]
