"""Assertions about tensors: what passes, what is said of what does not."""

from __future__ import annotations

import pytest

import claygrad
from claygrad.testing import assert_close, make_tensor


def test_close_within_the_tolerance_of_the_dtype() -> None:
    assert_close(claygrad.tensor([1.0]), claygrad.tensor([1.0 + 1e-7]))
    assert_close({"a": [claygrad.ones(2), 3]}, {"a": [claygrad.ones(2), 3]})


def test_what_differs_is_said_with_its_place() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close([claygrad.tensor([1.0, 2.0])], [claygrad.tensor([1.0, 2.5])])
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)\n\nThe failure occurred for item [0]"
    ).replace("0.2 at", f"{claygrad.tensor(0.2).item()} at")


def test_a_boolean_is_no_number() -> None:
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type <class 'bool'> and <class 'int'>"):
        assert_close(True, 1)


def test_gradients_are_not_touched() -> None:
    x = claygrad.ones(2, requires_grad=True)
    y = x * 2
    assert_close(y, claygrad.tensor([2.0, 2.0]))
    y.sum().backward()
    assert_close(x.grad, claygrad.tensor([2.0, 2.0]))


def test_make_tensor_keeps_its_bounds() -> None:
    made = make_tensor((50,), dtype=claygrad.int64, device="cpu", low=3, high=6)
    assert set(made.tolist()) == {3, 4, 5}
    assert not make_tensor(2, 3, dtype=claygrad.float32, device="cpu", noncontiguous=True).is_contiguous()


def test_assert_allclose_is_wider_and_deprecated():
    for dtype, rtol in ((claygrad.float32, 1e-4), (claygrad.float64, 1e-5)):
        one = claygrad.tensor([1e6], dtype=dtype)
        with pytest.warns(FutureWarning, match="assert_allclose"):
            claygrad.testing.assert_allclose(one * (1 + 0.9 * rtol), one)
        with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
            claygrad.testing.assert_allclose(one * (1 + 1.1 * rtol), one)
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="mine"):
        claygrad.testing.assert_allclose([1.0, 2.0], [1.0, 3.0], msg="mine")
    with pytest.warns(FutureWarning):
        claygrad.testing.assert_allclose(claygrad.tensor([1, 2]), claygrad.tensor([1.0, 2.0]))
