"""Sequences of different lengths, padded and packed."""

from __future__ import annotations

import pytest

from tests.support import is_torch, leaf, raises


def padded(lib):
    return lib.arange(24.0).view(4, 3, 2)


def test_packing_goes_step_by_step(lib):
    p = lib.nn.utils.rnn.pack_padded_sequence(padded(lib), [4, 3, 1])
    assert p.data[:, 0].tolist() == [0, 2, 4, 6, 8, 12, 14, 18]
    assert p.batch_sizes.tolist() == [3, 2, 2, 1]
    assert p.sorted_indices is None
    assert p.unsorted_indices is None
    assert p._fields[:2] == ("data", "batch_sizes")


def test_unsorted_lengths_are_remembered(lib):
    rnn = lib.nn.utils.rnn
    p = rnn.pack_padded_sequence(padded(lib), lib.tensor([1, 4, 2]), enforce_sorted=False)
    assert p.sorted_indices.tolist() == [1, 2, 0]
    assert p.unsorted_indices.tolist() == [2, 0, 1]
    back, lengths = rnn.pad_packed_sequence(p, padding_value=-1, total_length=5)
    assert lengths.tolist() == [1, 4, 2]
    assert back.shape == (5, 3, 2)
    assert back[:, 2, 0].tolist() == [4, 10, -1, -1, -1]
    assert back[:4, 1].tolist() == padded(lib)[:, 1].tolist()


def test_batch_first(lib):
    rnn = lib.nn.utils.rnn
    x = padded(lib).transpose(0, 1)
    p = rnn.pack_padded_sequence(x, [4, 3, 1], batch_first=True)
    assert p.data[:, 0].tolist() == [0, 2, 4, 6, 8, 12, 14, 18]
    back, lengths = rnn.pad_packed_sequence(p, batch_first=True)
    assert back.shape == (3, 4, 2)
    assert back[1].tolist() == [*x[1, :3].tolist(), [0, 0]]
    assert lengths.tolist() == [4, 3, 1]


def test_gradients_go_through_packing_and_back(lib):
    x = padded(lib).requires_grad_()
    p = lib.nn.utils.rnn.pack_padded_sequence(x, [4, 3, 1])
    assert p.data.grad_fn.name() == "PackPaddedSequenceBackward0"
    (p.data * lib.arange(16.0).view(8, 2)).sum().backward()
    assert x.grad[:, 1, 0].tolist() == [2, 8, 12, 0]
    assert x.grad[:, 2].sum().item() == 4 + 5
    y = leaf(lib, [[1.0], [2.0], [3.0]])
    packed = lib.nn.utils.rnn.PackedSequence(y, lib.tensor([2, 1]))
    out, _ = lib.nn.utils.rnn.pad_packed_sequence(packed)
    (out * out).sum().backward()
    assert y.grad.tolist() == [[2], [4], [6]]


@pytest.mark.parametrize(("lengths", "text"), [
    ([4, 2], "Expected `len(lengths)` to be equal to batch_size, but got 2 (batch_size=3)"),
    ([4, 2, 0], "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"),
    ([2, 4, 1], ("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
                "you do not need ONNX exportability.")),
])
def test_lengths_that_are_refused(lib, lengths, text):
    with raises(lib, RuntimeError, text):
        lib.nn.utils.rnn.pack_padded_sequence(padded(lib), lengths)


def test_a_length_beyond_the_end_is_refused(lib):
    if is_torch(lib):       # packs what is there, and what it packs cannot be unpacked
        assert lib.nn.utils.rnn.pack_padded_sequence(padded(lib), [5, 2, 1]).batch_sizes.tolist() == [3, 2, 1, 1, 1]
    else:
        with pytest.raises(RuntimeError, match="Expected every length to be at most the number of steps, 4, but got 5"):
            lib.nn.utils.rnn.pack_padded_sequence(padded(lib), [5, 2, 1])


def test_empty_batches_are_refused(lib):
    with raises(lib, RuntimeError, "Cannot pack empty tensors."):
        lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(3, 0, 2), lib.zeros(0, dtype=lib.int64))


def test_total_length_is_checked(lib):
    rnn = lib.nn.utils.rnn
    with raises(lib, ValueError, "Expected total_length to be at least the length of the longest sequence in input, "
                "but got total_length=2 and max sequence length being 4"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(padded(lib), [4, 3, 1]), total_length=2)


def test_padding_a_list(lib):
    rnn = lib.nn.utils.rnn
    rows = [lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0, 5.0])]
    assert rnn.pad_sequence(rows).tolist() == [[1, 3], [2, 4], [0, 5]]
    assert rnn.pad_sequence(rows, batch_first=True, padding_value=7).tolist() == [[1, 2, 7], [3, 4, 5]]
    assert rnn.pad_sequence(rows, True, padding_side="left").tolist() == [[0, 1, 2], [3, 4, 5]]
    x = leaf(lib, [1.0, 2.0])
    made = rnn.pad_sequence([x, rows[1]])
    assert made.grad_fn.name() == "torch::autograd::CopySlices"
    made.sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.parametrize(("given", "kind", "text"), [
    ([], RuntimeError, "received an empty list of sequences"),
    (3, RuntimeError, "pad_sequence: Expected iterable for input sequences, but got arg of type: <class 'int'>"),
    ([3], TypeError, "expected Tensor as element 0 in argument 0, but got int"),
])
def test_lists_that_are_refused(lib, given, kind, text):
    with raises(lib, kind, text):
        lib.nn.utils.rnn.pad_sequence(given)


def test_sides_and_shapes_that_are_refused(lib):
    rnn = lib.nn.utils.rnn
    with raises(lib, RuntimeError, "Expected padding_side to be one of left or right, but got x."):
        rnn.pad_sequence([lib.ones(2)], padding_side="x")
    with raises(lib, RuntimeError, "The size of tensor a (3) must match the size of tensor b (2) at non-singleton "
                "dimension 1"):
        rnn.pad_sequence([lib.ones(2, 3), lib.ones(1, 2)])


def test_lists_come_back(lib):
    rnn = lib.nn.utils.rnn
    rows = [lib.arange(3.0), lib.arange(1.0), lib.arange(2.0)]
    packed = rnn.pack_sequence(rows, enforce_sorted=False)
    assert [row.tolist() for row in rnn.unpack_sequence(packed)] == [[0, 1, 2], [0], [0, 1]]
    flat = rnn.pad_sequence(rows)
    assert [row.tolist() for row in rnn.unpad_sequence(flat, lib.tensor([3, 1, 2]))] == [[0, 1, 2], [0], [0, 1]]


def test_a_packed_sequence_is_cast_and_moved(lib):
    p = lib.nn.utils.rnn.pack_sequence([lib.ones(2), lib.ones(1)], enforce_sorted=False)
    assert p.double().data.dtype is lib.float64
    assert p.long().data.dtype is lib.int64
    assert p.half().data.dtype is lib.float16
    assert p.cpu() is p
    assert p.to("cpu") is p
    assert not p.is_cuda
    assert not p.is_pinned()
    moved = p.to(lib.float64)
    assert moved.batch_sizes is p.batch_sizes
    assert moved.sorted_indices.tolist() == [0, 1]
    assert p.int().data.dtype is lib.int32
    assert p.short().data.dtype is lib.int16
    assert p.char().data.dtype is lib.int8
    assert p.byte().data.dtype is lib.uint8
    assert p.float() is p


def test_permutations_are_inverted(lib):
    invert = lib.nn.utils.rnn.invert_permutation
    assert invert(lib.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert invert(None) is None


def test_making_one_by_hand(lib):
    Packed = lib.nn.utils.rnn.PackedSequence
    pair = Packed((lib.ones(2), lib.tensor([2])))
    assert pair.batch_sizes.tolist() == [2]
    assert isinstance(pair, tuple)
    assert len(pair) == 4
    with raises(lib, AssertionError, "Expected data to be a list or tuple of length 2"):
        Packed(lib.ones(2))
    with raises(lib, ValueError, "batch_sizes should always be on CPU. …"):
        Packed(lib.ones(2), lib.ones(1, device="meta"))
