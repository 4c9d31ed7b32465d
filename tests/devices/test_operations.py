"""Every declared operation on the test device against the CPU: values, gradients, the order of memory."""

from __future__ import annotations

import pytest

from tests.devices.compare import HOST_ONLY, SAID, differences

KEYS = [key for key, said in SAID.items() if said.name not in HOST_ONLY]

# SciPy and LAPACK compute these, in main memory: the device refuses them and names the way out.
LACKING = frozenset("chalf ldl_factor_ex ldl_factor ldl_solve".split())


# bfloat16 is kept by its bits: what tells it from other dtypes is refused, or rounds in another place than a kernel.
BY_BITS = frozenset("bincount multi_head_attention_forward pixel_unshuffle".split())
COMPLEX_HALF = frozenset("view_as_complex complex_ view_as_complex_copy".split())       # of float16: complex32


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("key", KEYS)
def test_and_so_it_does_in_other_dtypes(key, dtype, strict):
    if dtype == "bfloat16" and key in BY_BITS:
        return
    found = list(differences(key, strict, dtype, most=2))
    lacking = key in LACKING or (dtype == "float16" and key in COMPLEX_HALF)
    assert {word for word, _ in found} <= ({"lacks"} if lacking else set()), found


@pytest.mark.parametrize("layout", ["transposed", "offset"])
@pytest.mark.parametrize("key", [key for key in KEYS if "as_strided" not in key])       # which name memory, not elements
def test_the_layout_of_memory_makes_no_difference(key, layout, strict):
    found = differences(key, strict, "float64", layout, most=2)
    assert [text for word, text in found if word == "wrong" and "strides" not in text] == []


@pytest.mark.parametrize("key", KEYS)
def test_an_operation_does_there_what_it_does_on_the_cpu(key, strict):
    found = list(differences(key, strict))
    if key in LACKING:
        assert found
        assert {word for word, _ in found} == {"lacks"}
    else:
        assert not found, "\n".join(f"{word}: {text}" for word, text in found)
