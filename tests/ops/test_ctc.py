"""The loss of connectionist temporal classification against all alignments counted one by one."""

from __future__ import annotations

import itertools
import math

import pytest

import claygrad
from claygrad.nn.functional import ctc_loss, log_softmax
from tests.support import close

LABELS, FRAMES, LENGTHS = [[1, 2, 2], [3, 1, 0]], (5, 4), (3, 2)


def scores() -> claygrad.Tensor:
    claygrad.manual_seed(0)
    return claygrad.randn(5, 2, 4, dtype=claygrad.float64, requires_grad=True)


def read(path: tuple[int, ...], blank: int) -> list[int]:
    """What an alignment says: repetitions once, blanks not at all."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def counted(log_probs: claygrad.Tensor, row: int, blank: int) -> float:
    frames, labels = log_probs[: FRAMES[row], row].tolist(), LABELS[row][: LENGTHS[row]]
    paths = itertools.product(range(4), repeat=len(frames))
    total = sum(
        math.exp(sum(frame[label] for frame, label in zip(frames, path))) for path in paths if read(path, blank) == labels
    )
    return -math.log(total)


def test_the_loss_is_that_of_all_alignments_together():
    log_probs = log_softmax(scores().detach(), -1)
    expected = [counted(log_probs, row, 0) for row in (0, 1)]
    assert close(ctc_loss(log_probs, claygrad.tensor(LABELS), FRAMES, LENGTHS, reduction="none"), expected)
    assert close(ctc_loss(log_probs, claygrad.tensor(LABELS), FRAMES, LENGTHS), (expected[0] / 3 + expected[1] / 2) / 2)


def test_labels_in_one_row_and_lengths_in_tensors_say_the_same():
    log_probs = log_softmax(scores().detach(), -1)
    packed = claygrad.tensor(LABELS[0] + LABELS[1][:2])
    lengths = claygrad.tensor(FRAMES), claygrad.tensor(LENGTHS)
    expected = ctc_loss(log_probs, claygrad.tensor(LABELS), FRAMES, LENGTHS, reduction="sum")
    assert close(ctc_loss(log_probs, packed, *lengths, reduction="sum"), expected.item())


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_behind_a_log_softmax_the_gradient_is_the_derivative(reduction):
    def loss(x):
        return ctc_loss(log_softmax(x, -1), claygrad.tensor(LABELS), FRAMES, LENGTHS, reduction=reduction)

    assert claygrad.autograd.gradcheck(loss, (scores(),))


def test_labels_that_do_not_fit_cost_infinity_or_nothing():
    x = scores()
    loss = ctc_loss(log_softmax(x, -1), claygrad.tensor(LABELS), (2, 4), LENGTHS, reduction="none")
    assert loss[0].item() == math.inf
    loss = ctc_loss(log_softmax(x, -1), claygrad.tensor(LABELS), (2, 4), LENGTHS, reduction="sum", zero_infinity=True)
    loss.backward()
    assert x.grad[:, 0].abs().sum().item() == 0
    assert x.grad[:, 1].abs().sum().item() > 0


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(IndexError, match="a target is not a class, from 0 to 3"):
        ctc_loss(scores(), claygrad.tensor([[4, 1, 1], [1, 1, 1]]), FRAMES, LENGTHS)


def test_there_is_no_second_derivative():
    x = scores()
    loss = ctc_loss(log_softmax(x, -1), claygrad.tensor(LABELS), FRAMES, LENGTHS)
    (grad,) = claygrad.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        grad.sum().backward()
