"""The codes of dtypes: one table in core/data/dtype.pyx, counted in dtype.pxd; the kernels know the first of them."""
from __future__ import annotations

import re
from pathlib import Path

import claygrad
from claygrad.core import DTYPES

SOURCES = Path(__file__).parents[2] / "claygrad"


def declared() -> dict[str, int]:
    text = (SOURCES / "core/data/dtype.pxd").read_text()
    return {name: int(code) for name, code in re.findall(r"^    ([A-Z0-9_]+) = (\d+)", text.split("CAT_BOOL")[0], re.MULTILINE)}


def test_the_table_is_counted():
    assert declared()["N_DTYPES"] == len(DTYPES)


def test_codes_follow_the_order_of_the_table():
    codes, names = declared(), list(DTYPES)
    for name, dtype in (("U8", "uint8"), ("F32", "float32"), ("BOOL", "bool"), ("BF16", "bfloat16"), ("C32", "complex32"),
                        ("F8_E4M3FN", "float8_e4m3fn"), ("F4_X2", "float4_e2m1fn_x2")):
        assert names[codes[name]] == dtype


def test_kernels_have_the_same_codes():
    text = (SOURCES / "kernels/platform/dtypes.hpp").read_text()
    found = re.search(r"enum Code : int \{ ([^}]*) \}", text)
    assert found
    kernels = found[1].split(", ")
    assert {name: i for i, name in enumerate(kernels)} == {name: declared()[name] for name in kernels}
    assert len(kernels) == declared()["N_NATIVE"]


def test_every_dtype_copies_and_prints():
    for name, dtype in DTYPES.items():
        x = claygrad.empty(2, dtype=dtype)
        assert x.clone().dtype is dtype
        assert name in repr(x.dtype)


def test_kinds_are_numpys_letters():
    for name, dtype in DTYPES.items():
        if dtype.kind != "V" and dtype.numpy.kind in "biufc":
            assert dtype.kind == dtype.numpy.kind, name
        letter = {"float": "f", "complex": "c", "uint": "u", "int": "i", "bool": "b"}
        assert dtype.kind == next((kind for start, kind in letter.items() if name.startswith(start)), "f" if name == "bfloat16" else "V")
