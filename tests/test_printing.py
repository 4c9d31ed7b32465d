"""The text of tensors: section 15 of the semantics, with the texts as torch writes them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import inf, nan
from types import ModuleType

import pytest

from tests.support import is_torch, leaf, lend, raises, renamed


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


def text(lib: ModuleType, values: object, **options: object) -> str:
    return repr(lib.tensor(values, **options))


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_whole_floats_print_with_a_bare_point(lib):
    assert text(lib, [1.0, 2.0, 3.0]) == "tensor([1., 2., 3.])"


def test_other_floats_print_with_four_digits(lib):
    assert text(lib, [1.5, 2.25]) == "tensor([1.5000, 2.2500])"


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([-1.0, 2.0], "tensor([-1.,  2.])"),
        ([1, -20, 300], "tensor([  1, -20, 300])"),
        ([True, False], "tensor([ True, False])"),
        ([nan, 1.5], "tensor([   nan, 1.5000])"),
    ],
)
def test_all_elements_take_the_width_of_the_widest(lib, values, wanted):
    assert text(lib, values) == wanted


def test_non_finite_and_zero_elements_do_not_widen_the_column(lib):
    assert text(lib, [1.0, nan, inf, -inf]) == "tensor([1., nan, inf, -inf])"
    assert text(lib, [0.0, -0.0, nan]) == "tensor([0., -0., nan])"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(3.0, "tensor(3.)"), (3.14159, "tensor(3.1416)"), (3, "tensor(3)"), (True, "tensor(True)"), (nan, "tensor(nan)")],
)
def test_a_scalar_prints_without_brackets(lib, value, wanted):
    assert text(lib, value) == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1.0, 2000.0], "tensor([1.0000e+00, 2.0000e+03])"),
        ([1.0, 1000.0], "tensor([   1., 1000.])"),
        ([1e8], "tensor([100000000.])"),
        ([2e8], "tensor([2.0000e+08])"),
        ([0.00005, 0.0001], "tensor([5.0000e-05, 1.0000e-04])"),
        ([0.001, 0.5], "tensor([0.0010, 0.5000])"),
        ([0.0, 2e9], "tensor([0.0000e+00, 2.0000e+09])"),
    ],
)
def test_floats_turn_scientific_when_they_spread_over_more_than_a_thousand(lib, values, wanted):
    assert text(lib, values) == wanted


def test_integers_are_never_scientific(lib):
    assert text(lib, [1, 2_000_000_000_000]) == "tensor([            1, 2000000000000])"


def test_complex_numbers_print_both_parts(lib):
    assert text(lib, [1 + 2j, -3.5 - 0.5j]) == "tensor([ 1.0000+2.0000j, -3.5000-0.5000j])"
    assert text(lib, 1j) == "tensor(0.+1.j)"
    assert text(lib, complex(nan, inf)) == "tensor(nan+infj)"


# --- what stands after the elements ----------------------------------------------------------------------------------


def test_the_dtype_is_shown_unless_the_elements_tell_it(lib):
    assert text(lib, [1.0], dtype=lib.float64) == renamed(lib, "tensor([1.], dtype=torch.float64)")
    assert text(lib, [1.0], dtype=lib.float16) == renamed(lib, "tensor([1.], dtype=torch.float16)")
    assert text(lib, [1.5], dtype=lib.bfloat16) == renamed(lib, "tensor([1.5000], dtype=torch.bfloat16)")
    assert text(lib, [1], dtype=lib.int32) == renamed(lib, "tensor([1], dtype=torch.int32)")
    assert text(lib, [1], dtype=lib.int64) == "tensor([1])"
    assert text(lib, [1j], dtype=lib.complex64) == "tensor([0.+1.j])"
    assert text(lib, [1j], dtype=lib.complex128) == renamed(lib, "tensor([0.+1.j], dtype=torch.complex128)")


def test_the_default_dtype_decides_which_floats_go_without_saying(lib):
    lib.set_default_dtype(lib.float64)
    try:
        assert repr(lib.ones(1)) == "tensor([1.])"
        assert text(lib, [1j]) == "tensor([0.+1.j])"
        assert repr(lib.ones(1, dtype=lib.float32)) == renamed(lib, "tensor([1.], dtype=torch.float32)")
    finally:
        lib.set_default_dtype(lib.float32)


def test_history_comes_last(lib):
    x = leaf(lib, [1.0, 1.0], dtype=lib.float64)
    assert repr(x) == renamed(lib, "tensor([1., 1.], dtype=torch.float64, requires_grad=True)")
    assert repr(x * 1) == renamed(lib, "tensor([1., 1.], dtype=torch.float64, grad_fn=<MulBackward0>)")


def test_a_view_whose_base_was_overwritten_prints_an_invalid_history(lib):
    y = leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1
    p, _ = y.split(2)
    y.mul_(2)
    assert repr(p) == "tensor([2., 4.], grad_fn=<Invalid>)"


def test_an_empty_tensor_shows_its_size_unless_it_is_a_vector(lib):
    assert text(lib, []) == "tensor([])"
    assert text(lib, [], dtype=lib.int64) == renamed(lib, "tensor([], dtype=torch.int64)")
    assert repr(lib.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(lib.zeros(0, 3, dtype=lib.bool)) == renamed(lib, "tensor([], size=(0, 3), dtype=torch.bool)")


def test_a_meta_tensor_shows_dots_device_and_size(lib):
    assert repr(lib.zeros(2, device="meta")) == "tensor(..., device='meta', size=(2,))"
    m = lib.zeros(2, dtype=lib.int64, device="meta")
    assert repr(m) == renamed(lib, "tensor(..., device='meta', size=(2,), dtype=torch.int64)")


def test_a_suffix_that_does_not_fit_starts_a_line_of_its_own(lib):
    x = leaf(lib, [1.25] * 8)
    assert repr(x * 1) == (
        "tensor([1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500, 1.2500],\n       grad_fn=<MulBackward0>)"
    )


# --- several dimensions ----------------------------------------------------------------------------------------------


def test_rows_stand_below_each_other(lib):
    assert text(lib, [[1.0, 2.0], [3.0, 4.5]]) == "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"


def test_matrices_of_a_cube_are_parted_by_a_blank_line(lib):
    assert repr(lib.zeros(2, 1, 2)) == "tensor([[[0., 0.]],\n\n        [[0., 0.]]])"


def test_a_long_row_wraps_at_eighty_columns(lib):
    lines = repr(lib.arange(30.0)).split("\n")
    assert lines[0] == "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,"
    assert lines[1].startswith("        14., 15.")


def test_over_a_thousand_elements_only_the_edges_are_shown(lib):
    assert repr(lib.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert repr(lib.arange(1000)).count(",") == 999
    assert repr(lib.zeros(40, 40)) == (
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        ...,\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.]])"
    )


def test_the_width_comes_from_the_elements_shown_alone(lib):
    x = lib.zeros(2000)
    x[1000] = 123456.789
    assert repr(x) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_printing_a_tensor_of_a_million_million_elements_reads_only_its_edges(lib):
    huge = lib.tensor(1.5).expand(1_000_000, 1_000_000)
    assert repr(huge).startswith("tensor([[1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],\n")


# --- format and str --------------------------------------------------------------------------------------------------


def test_formatting_a_scalar_formats_its_number(lib):
    assert f"{lib.tensor(3.14159)}" == "3.141590118408203"
    assert f"{leaf(lib, 2.0)}" == "2.0"
    assert f"{lib.tensor(3.14159):.2f}" == "3.14"
    assert f"{lib.tensor(7):>4}" == "   7"


def test_formatting_anything_else_is_its_repr_and_takes_no_spec(lib):
    assert f"{lib.tensor([1.0])}" == "tensor([1.])"
    assert f"{lib.zeros((), device='meta')}" == "tensor(..., device='meta', size=())"
    with raises(lib, TypeError, "unsupported format string passed to Tensor.__format__"):
        f"{lib.tensor([1.0]):.2f}"


def test_str_is_always_the_repr(lib):
    assert str(lib.tensor(2.5)) == repr(lib.tensor(2.5)) == "tensor(2.5000)"


def test_a_subclass_prints_its_own_name(lib):
    class Image(lib.Tensor):
        pass

    assert repr(lib.Tensor._make_subclass(Image, lib.ones(2))) == "Image([1., 1.])"


def test_contents_may_be_given_to_stand_for_the_elements(lib):
    if is_torch(lib):
        text = lib._tensor_str._str
    else:
        text = import_module("claygrad._printing").tensor_text
    x = leaf(lib, [1.0], dtype=lib.float64)
    assert text(x, tensor_contents="<1>") == renamed(lib, "tensor(<1>, dtype=torch.float64, requires_grad=True)")


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "values", "wanted"),
    [
        ({"precision": 2}, [1.12345], "tensor([1.12])"),
        ({"precision": 0}, [1.5], "tensor([2])"),
        ({"threshold": 5}, list(range(10)), "tensor([0, 1, 2,  ..., 7, 8, 9])"),
        ({"threshold": 5, "edgeitems": 1}, list(range(10)), "tensor([0,  ..., 9])"),
        ({"threshold": 5, "edgeitems": 0}, list(range(10)), "tensor([...], size=(10,))"),
        ({"edgeitems": 0}, [1, 2], "tensor([1, 2], size=(2,))"),
        ({"linewidth": 15}, [1, 2, 3, 4], "tensor([1, 2,\n        3, 4])"),
        ({"sci_mode": True}, [1.5], "tensor([1.5000e+00])"),
        ({"sci_mode": True}, [0.0], "tensor([0.])"),
        ({"sci_mode": False}, [1.0, 2000.5], "tensor([   1.0000, 2000.5000])"),
        ({"profile": "short"}, [1.12345], "tensor([1.12])"),
        ({"profile": "short", "precision": 3}, [1.12345], "tensor([1.123])"),
    ],
)
def test_set_printoptions_changes_what_is_printed(lib, options, values, wanted):
    lib.set_printoptions(**options)
    assert text(lib, values) == wanted
    lib.set_printoptions(profile="default")


def test_the_full_profile_never_summarises(lib):
    lib.set_printoptions(profile="full")
    assert "..." not in repr(lib.zeros(1001))


def test_sci_mode_returns_to_automatic_at_every_call_that_does_not_give_it(lib):
    lib.set_printoptions(sci_mode=True)
    lib.set_printoptions(precision=4)
    assert text(lib, [1.5]) == "tensor([1.5000])"


def test_printoptions_hold_inside_the_block_only(lib):
    options = (lib._tensor_str if is_torch(lib) else lib).printoptions
    with pytest.raises(KeyError), options(precision=1):
        assert text(lib, [1.25]) == "tensor([1.2])"
        raise KeyError
    assert text(lib, [1.25]) == "tensor([1.2500])"


def test_get_printoptions_tells_the_options_in_force(lib):
    get = (lib._tensor_str if is_torch(lib) else lib).get_printoptions
    lib.set_printoptions(edgeitems=7, sci_mode=False)
    assert get() == {"precision": 4, "threshold": 1000, "edgeitems": 7, "linewidth": 80, "sci_mode": False}


# --- what other parts print -------------------------------------------------------------------------------------------


def test_sizes_and_named_tuples_print_with_the_library_name(lib):
    assert repr(lib.zeros(2, 3).shape) == renamed(lib, "torch.Size([2, 3])")
    assert repr(lib.tensor([[1.0, 2.0]]).max(1)) == renamed(
        lib, "torch.return_types.max(\nvalues=tensor([2.]),\nindices=tensor([1]))"
    )


def test_a_parameter_prints_as_a_tensor_and_its_heirs_say_whose_they_are(lib, monkeypatch):
    if is_torch(lib):
        parameter = lib.nn.Parameter
    else:  # until there is nn.Parameter, a class that is counted as it will be
        parameter = type("Parameter", (lib.Tensor,), {})
        monkeypatch.setattr(import_module("claygrad._printing"), "plain_classes", [parameter])
    text = lib.Tensor.__repr__  # Parameter's own adds a line above
    heir = type("Heir", (parameter,), {})
    make = lib.Tensor._make_subclass
    assert text(make(parameter, lib.ones(2), True)) == "tensor([1., 1.], requires_grad=True)"
    assert text(make(heir, lib.ones(2), True)) == "Parameter(Heir([1., 1.], requires_grad=True))"
