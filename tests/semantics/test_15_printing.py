"""Section 15: printing. The forms of the table; the deep comparison with torch lives with the printing tests."""

from __future__ import annotations

import math

import pytest

from tests.support import leaf, raises, renamed

INF, NAN = math.inf, math.nan

VALUES = {
    "whole": ([1.0, 2.0, 3.0], "tensor([1., 2., 3.])"),
    "digits": ([1.5, 2.25], "tensor([1.5000, 2.2500])"),
    "sign": ([-1.0, 2.0], "tensor([-1.,  2.])"),
    "int width": ([1, -20, 300], "tensor([  1, -20, 300])"),
    "bool": ([True, False], "tensor([ True, False])"),
    "nan": ([NAN, 1.5], "tensor([   nan, 1.5000])"),
    "inf": ([1.0, NAN, INF, -INF], "tensor([1., nan, inf, -inf])"),
    "scalar": (3.0, "tensor(3.)"),
    "scalar digits": (3.14159, "tensor(3.1416)"),
    "scalar int": (3, "tensor(3)"),
    "scalar bool": (True, "tensor(True)"),
    "ratio": ([1.0, 2000.0], "tensor([1.0000e+00, 2.0000e+03])"),
    "exactly 1000": ([1.0, 1000.0], "tensor([   1., 1000.])"),
    "1e8": ([100000000.0], "tensor([100000000.])"),
    "above 1e8": ([200000000.0], "tensor([2.0000e+08])"),
    "small": ([0.00001], "tensor([1.0000e-05])"),
    "ints never": ([1, 1000000000000], "tensor([            1, 1000000000000])"),
    "empty": ([], "tensor([])"),
    "complex": ([1 + 2j], "tensor([1.+2.j])"),
    "matrix": ([[1, 2], [3, 4]], "tensor([[1, 2],\n        [3, 4]])"),
    "cube": ([[[1, 2]], [[3, 4]]], "tensor([[[1, 2]],\n\n        [[3, 4]]])"),
}


@pytest.mark.parametrize(("values", "text"), VALUES.values(), ids=VALUES.keys())
def test_the_text_of(lib, values, text):
    assert repr(lib.tensor(values)) == str(lib.tensor(values)) == text


def test_suffixes_come_in_a_fixed_order(lib):
    x = leaf(lib, [1.0, 1.0], dtype=lib.float64)
    assert repr(x * 1) == renamed(lib, "tensor([1., 1.], dtype=torch.float64, grad_fn=<MulBackward0>)")
    assert repr(x) == renamed(lib, "tensor([1., 1.], dtype=torch.float64, requires_grad=True)")
    lib.set_printoptions(linewidth=120)  # the suffixes wrap, and the names are of different length
    m = lib.ones(2, dtype=lib.float64, device="meta", requires_grad=True)
    text = "tensor(..., device='meta', size=(2,), dtype=torch.float64, requires_grad=True)"
    assert repr(m) == renamed(lib, text)


def test_the_dtype_is_shown_unless_it_is_a_default(lib):
    assert repr(lib.tensor([1], dtype=lib.int32)) == renamed(lib, "tensor([1], dtype=torch.int32)")
    assert repr(lib.tensor([1.0], dtype=lib.float16)) == renamed(lib, "tensor([1.], dtype=torch.float16)")
    assert repr(lib.tensor([], dtype=lib.int64)) == renamed(lib, "tensor([], dtype=torch.int64)")
    assert repr(lib.zeros(0, 3)) == "tensor([], size=(0, 3))"


def test_more_than_a_thousand_elements_are_summarised(lib):
    assert repr(lib.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    rows = repr(lib.zeros(1001, 1)).splitlines()
    assert (len(rows), rows[3]) == (7, "        ...,")


def test_long_lines_wrap_and_a_suffix_may_get_its_own_line(lib):
    assert repr(lib.arange(30.0)).splitlines()[0].endswith("13.,")
    zeros = "0., " * 23 + "0."
    assert repr(lib.zeros(20, requires_grad=True) * 1) == f"tensor([{zeros[:78]}],\n       grad_fn=<MulBackward0>)"
    text = f"tensor([{zeros},\n        0., 0.], grad_fn=<MulBackward0>)"
    assert repr(lib.zeros(26, requires_grad=True) * 1) == text


def test_a_zero_dimensional_tensor_formats_as_its_number(lib):
    assert f"{lib.tensor(3.14159)}" == "3.141590118408203"
    assert f"{leaf(lib, 2.0)}" == "2.0"
    assert f"{lib.tensor(3.14159):.2f}" == "3.14"
    assert f"{lib.tensor(5)}" == "5"


def test_a_tensor_with_dimensions_formats_as_its_repr(lib):
    t = lib.tensor([1.0])
    assert f"{t}" == str(t) == "tensor([1.])"
    with raises(lib, TypeError, "unsupported format string passed to Tensor.__format__"):
        f"{t:.2f}"


def test_sizes_and_named_tuples_print_their_names(lib):
    assert repr(lib.zeros(2, 3).shape) == renamed(lib, "torch.Size([2, 3])")
    text = "torch.return_types.max(\nvalues=tensor([2.]),\nindices=tensor([1]))"
    assert repr(lib.tensor([[1.0, 2.0]]).max(1)) == renamed(lib, text)


def test_print_options(lib):
    t = lib.tensor([1.23456, 1000.5])
    lib.set_printoptions(precision=2)
    assert repr(t) == "tensor([   1.23, 1000.50])"
    lib.set_printoptions(sci_mode=True)
    assert repr(t) == "tensor([1.23e+00, 1.00e+03])"
    lib.set_printoptions(profile="default")
    lib.set_printoptions(threshold=5, edgeitems=1)
    assert repr(lib.arange(10)) == "tensor([0,  ..., 9])"
    lib.set_printoptions(profile="default")
    lib.set_printoptions(linewidth=20)
    assert repr(lib.arange(10)) == "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"
