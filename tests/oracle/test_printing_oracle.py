"""Random tensors of every dtype and shape print as torch prints them; and the printing tests hold for torch itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import pytest

import tests.test_printing
from tests.support import lend

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")
numpy = pytest.importorskip("numpy")
st = hypothesis.strategies

INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "bool"]
DTYPES = [*INTEGERS, "float16", "float32", "float64", "bfloat16", "complex64", "complex128"]
ODD = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 1000.0, 1001.0, 1e-4, 9.9e-5, 1e8, 1.1e8]


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


globals().update({name: test for name, test in vars(tests.test_printing).items() if name.startswith("test_")})

shapes = st.one_of(
    st.just(()),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.sampled_from([(999,), (1000,), (1001,), (7, 150), (150, 7), (1001, 1), (4, 7, 40), (12, 10, 10)]),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.sampled_from([0, 5, 20, 1000, math.inf]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.sampled_from([1, 20, 40, 80, 120]),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.booleans(),
    },
)


@st.composite
def arrays(draw: st.DrawFn) -> numpy.ndarray:
    shape = tuple(draw(shapes))
    random = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0, 999.0, 1e5, 1e8, 1e20]))

    def part() -> numpy.ndarray:
        values = random.standard_normal(shape) * scale
        if draw(st.booleans()):
            values = numpy.round(values)
        oddity = draw(st.sampled_from([*ODD, None]))
        return values if oddity is None else numpy.where(random.random(shape) < 0.3, oddity, values)

    if draw(st.booleans()):
        return part()
    array = numpy.empty(shape, dtype=complex)
    array.real, array.imag = part(), part()
    return array


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(arrays(), st.sampled_from(DTYPES), options, st.sampled_from(["plain", "leaf", "result", "meta"]))
def test_every_tensor_prints_as_torch_prints_it(array, dtype, chosen, kind):
    import claygrad

    theirs = torch.from_numpy(numpy.asarray(array))
    if dtype in INTEGERS:
        theirs = torch.nan_to_num(theirs.real).clamp(-1e18, 1e18)
    theirs = (theirs if getattr(torch, dtype).is_complex else theirs.real).to(getattr(torch, dtype))
    same = theirs.float().numpy() if dtype == "bfloat16" else theirs.numpy()
    ours = claygrad.from_numpy(same.copy()).to(getattr(claygrad, dtype))
    if kind == "meta":
        theirs, ours = theirs.to("meta"), ours.to("meta")
    elif kind != "plain" and dtype not in INTEGERS:
        theirs.requires_grad_(), ours.requires_grad_()
        if kind == "result":
            theirs, ours = theirs * 1, ours * 1
    claygrad.core.set_prefix("torch")  # lines break by length, and the longer name would move the breaks
    try:
        for library in (torch, claygrad):
            library.set_printoptions(profile="default")
            library.set_printoptions(**chosen)
        assert repr(ours) == repr(theirs)
    finally:
        claygrad.core.set_prefix("claygrad")
        for library in (torch, claygrad):
            library.set_printoptions(profile="default")
