"""The array object: its attributes and methods, indexing in every form of the standard, dtypes, DLPack, what it says of itself."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import claygrad
from claygrad import array_api as xp
from claygrad.core import DTYPES
from tests.array_api.support import (
    ALL,
    COMPLEX,
    LIMITED,
    REAL,
    WHOLE,
    arrays,
    draws,
    equal,
    reference,
    same,
    shapes,
    strict,
)

TWO_OPERANDS = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
METHODS = {**dict.fromkeys([f"__{kind}{name}__" for name in TWO_OPERANDS for kind in ("", "r", "i")], 1),
           **dict.fromkeys("__eq__ __ge__ __gt__ __le__ __lt__ __ne__ __getitem__ to_device".split(), 1), "__setitem__": 2,
           **dict.fromkeys("__abs__ __bool__ __complex__ __dlpack__ __dlpack_device__ __float__ __index__ __int__ __invert__ __neg__ __pos__ "
                           "__array_namespace__".split(), 0)}


@pytest.mark.parametrize("name", METHODS)
def test_methods_and_their_arguments(name: str) -> None:
    method = getattr(xp.ones((2, 2)), name)
    try:
        parameters = inspect.signature(method).parameters.values()
    except ValueError:                                   # a slot of the class tells no arguments
        assert callable(method)
        return
    assert sum(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters) == METHODS[name]
    wanted = {"to_device": {"stream"}, "__array_namespace__": {"api_version"},
              "__dlpack__": {"stream", "max_version", "dl_device", "copy"}}.get(name, set())
    assert {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} == wanted


@given(x=arrays(ALL))
@LIMITED
def test_attributes(x: Any) -> None:
    want = reference(x)
    assert (tuple(x.shape), x.ndim, x.size, x.dtype.name) == (want.shape, want.ndim, want.size, str(want._array.dtype))
    assert isinstance(x.shape, tuple)
    assert isinstance(x.size, int)
    assert x.size() == x.shape
    assert x.device == xp.__array_namespace_info__().default_device()
    assert x.to_device(x.device).device == x.device
    assert x.__array_namespace__() is xp
    for name, wrong in (("mT", x.ndim < 2), ("T", x.ndim != 2)):
        if wrong:
            with pytest.raises(ValueError):
                getattr(x, name)
        else:
            equal(getattr(x, name), getattr(want, name), name)


@given(data=st.data())
@LIMITED
def test_numbers_from_arrays_without_axes(data: Any) -> None:
    x = data.draw(arrays(ALL, st.just(())))
    want = reference(x)
    kind = x.dtype.name
    for call in [bool] * (kind == "bool") + [int] * (kind in WHOLE) + [float] * (kind in REAL) + [complex] * (kind in COMPLEX + REAL):
        got, wanted = call(x), call(want)
        assert type(got) is call
        assert got == wanted or (got != got and wanted != wanted)
    if kind in WHOLE:
        assert x.__index__() == int(want)


@given(data=st.data())
@LIMITED
def test_indices_and_slices(data: Any) -> None:
    x = data.draw(arrays(ALL, shapes(side=data.draw(st.integers(0, 1)))))
    key = data.draw(draws.indices(shape=tuple(x.shape), allow_newaxis=True))
    try:
        want = reference(x)[key]
    except IndexError:                                   # fewer indices than axes and no ellipsis
        return
    equal(x[key], want, f"{x!r}[{key}]")
    value = data.draw(arrays([x.dtype.name], st.just(())))
    whole = reference(x)
    if any(one is None for one in (key if isinstance(key, tuple) else (key,))):
        return
    number = value.item()
    for given_value in (value, number, x[key][...]):
        z = xp.asarray(x, copy=True)
        z[key] = given_value
        changed = strict.asarray(whole, copy=True)
        changed[key] = number if given_value is number else reference(given_value)
        equal(z, changed, f"{x!r}[{key}] = {given_value!r}")


@given(data=st.data())
@LIMITED
def test_masks(data: Any) -> None:
    x = data.draw(arrays(ALL))
    key = data.draw(arrays(["bool"], st.just(x.shape)))
    equal(x[key], reference(x)[reference(key)], f"{x!r}[{key!r}]")
    value = data.draw(arrays([x.dtype.name], st.just(())))
    z, want = xp.asarray(x, copy=True), reference(x)
    z[key] = value
    want[reference(key)] = reference(value)
    equal(z, want, f"{x!r}[{key!r}] = {value!r}")


def test_masks_of_any_shape() -> None:
    masks = [(), (3,), (0,), (2,), (2, 3), (2, 0), (0, 3), (0, 0), (3, 2), (2, 3, 2), (2, 3, 0), (1,)]
    for shape, mask, value in itertools.product([(), (3,), (0,), (2, 3), (2, 0), (0, 3), (2, 3, 2)], masks, (True, False)):
        x, key = numpy.arange(math.prod(shape)).reshape(shape), numpy.full(mask, value)
        y = xp.asarray(x.copy())
        if len(mask) > len(shape) or any(side not in (0, whole) for side, whole in zip(mask, shape)):
            with pytest.raises(IndexError):
                y[xp.asarray(key)]
            continue
        assert y[xp.asarray(key)].shape == x[key].shape, (shape, mask)
        x[key], y[xp.asarray(key)] = 7, 7
        assert (y.numpy() == x).all(), (shape, mask)


@given(data=st.data())
@LIMITED
def test_arrays_of_indices(data: Any) -> None:
    x = data.draw(arrays(ALL, shapes(least=1, side=1)))
    shape = data.draw(shapes(most=2))
    key = []
    for side in x.shape:
        if data.draw(st.booleans()) or not key:
            name = data.draw(st.sampled_from(WHOLE))
            key.append(data.draw(draws.arrays(dtype=getattr(xp, name), shape=shape, elements=st.integers(
                0 if name[0] == "u" else -side, side - 1))))
        else:
            key.append(data.draw(st.integers(-side, side - 1)))
    equal(x[tuple(key)], strict.asarray(x.numpy()[tuple(one.numpy() if isinstance(one, claygrad.Tensor) else one for one in key)]),
          f"{x!r}[{key!r}]")


@pytest.mark.parametrize("bad", [(5,), (0, 0, 0), (slice(None), slice(None), slice(None, None, -1)), (-4,)])
def test_indices_out_of_bounds(bad: tuple[Any, ...]) -> None:
    with pytest.raises(IndexError):
        xp.zeros((3, 2))[bad]


def test_an_operator_refuses_what_is_no_array() -> None:
    x = xp.ones(2)
    assert (x == None) is False     # noqa: E711
    assert x != "a"
    with pytest.raises(TypeError):
        x + "a"


def test_in_place_operators_keep_the_dtype() -> None:
    names = ALL[1:]
    for mine, other in itertools.product(names, names):
        try:
            kind = xp.result_type(getattr(xp, mine), getattr(xp, other))
        except TypeError:
            continue
        x = kept = xp.ones(2, dtype=getattr(xp, mine))
        if not claygrad.can_cast(kind, x.dtype):
            with pytest.raises(TypeError, match="cannot be written"):
                x += xp.ones(2, dtype=getattr(xp, other))
            continue
        x += xp.ones(2, dtype=getattr(xp, other))
        assert x is kept
        assert x.dtype.name == mine
        assert bool(xp.all(x == 2))


def test_an_array_is_a_tensor() -> None:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(x, claygrad.Tensor)
    assert type(x.sum()) is type(x.reshape(4)) is type(claygrad.exp(x)) is xp.Array
    assert type(pickle.loads(pickle.dumps(x))) is type(copy.deepcopy(x)) is type(copy.copy(x)) is xp.Array
    assert repr(x[0]) == "Array([1., 2.])"
    assert hash(x) == hash(x)
    assert numpy.asarray(x).tolist() == x.tolist()
    shared = xp.asarray(t := claygrad.zeros(3))
    shared[0] = 5.0
    assert t.tolist() == [5.0, 0.0, 0.0]


def test_scipy_takes_tensors_and_gives_arrays() -> None:
    program = """
import claygrad, numpy, scipy.special, scipy.stats, scipy.fft
t = claygrad.arange(6.0, dtype=claygrad.float64).reshape(2, 3)
for call in (scipy.stats.zscore, scipy.stats.skew, scipy.special.logsumexp, scipy.special.erf, scipy.fft.fft):
    made = call(t)
    assert isinstance(made, claygrad.Tensor), (call, type(made))
    assert numpy.allclose(made.numpy(), call(t.numpy())), call
print("equal")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
                         env={**os.environ, "SCIPY_ARRAY_API": "1"})
    assert ran.stdout == "equal\n", ran.stderr


def test_dtypes() -> None:
    for name in ALL:
        kind = getattr(xp, name)
        assert kind is DTYPES[name]
        assert [other for other in ALL if getattr(xp, other) == kind] == [name]
    for name in REAL + COMPLEX:
        got, want = xp.finfo(getattr(xp, name)), strict.finfo(getattr(strict, name))
        assert (got.bits, got.eps, got.max, got.min, got.smallest_normal) == (want.bits, want.eps, want.max, want.min, want.smallest_normal)
        assert got.dtype.name == str(want.dtype).rpartition(".")[2]
        assert type(got.bits) is int
        assert {type(one) for one in (got.eps, got.max, got.min, got.smallest_normal)} == {float}
    for name in WHOLE:
        got, want = xp.iinfo(xp.ones((), dtype=getattr(xp, name))), strict.iinfo(getattr(strict, name))
        assert (got.bits, got.max, got.min, got.dtype.name) == (want.bits, want.max, want.min, name)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        for name in ALL:
            assert xp.isdtype(getattr(xp, name), kind) is strict.isdtype(getattr(strict, name), kind)
            assert xp.isdtype(getattr(xp, name), (kind, xp.bool)) is strict.isdtype(getattr(strict, name), (kind, strict.bool))


@given(data=st.data())
@LIMITED
def test_astype_and_casts(data: Any) -> None:
    x = data.draw(arrays(ALL, tame=True))
    to = data.draw(st.sampled_from(ALL))
    assume(to[0] != "u" or x.dtype.name == "bool" or (x.dtype.name not in COMPLEX and bool(xp.all(x >= 0))))
    if not (x.dtype.name in COMPLEX and to == "bool"):            # array-api-strict refuses what the standard leaves open
        same("astype", x, getattr(xp, to))
    assert xp.can_cast(x, getattr(xp, to)) == xp.can_cast(x.dtype, getattr(xp, to))
    if xp.can_cast(x.dtype, getattr(xp, to)):
        assert xp.astype(x, getattr(xp, to), copy=False).dtype.name == to
    same_memory = xp.astype(x, x.dtype, copy=False)
    assert same_memory.data_ptr() == x.data_ptr()
    assert not x.size or xp.astype(x, x.dtype).data_ptr() != x.data_ptr()


@given(x=arrays(ALL, shapes(least=1)), copied=st.none() | st.booleans(), version=st.none() | st.tuples(st.integers(0, 2), st.just(0)))
@LIMITED
def test_dlpack(x: Any, copied: bool | None, version: Any) -> None:
    assert x.__dlpack_device__() == (1, 0)
    x.__dlpack__(copy=copied, max_version=version, dl_device=(1, 0))
    y = xp.from_dlpack(x, copy=copied, device=x.device)
    equal(y, reference(x), "from_dlpack")
    if x.size:
        assert (y.data_ptr() == x.data_ptr()) is (not copied)
