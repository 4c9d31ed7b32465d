"""`utils.benchmark` on the same times as PyTorch's: the same numbers, tables and texts, and the same tensors from a seed."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.utils.benchmark as theirs  # noqa: E402

import claygrad  # noqa: E402
from claygrad.utils import benchmark as ours  # noqa: E402


def measurements(lib, seed: int, tasks: int = 8) -> list:
    draw = random.Random(seed)
    made = []
    for _ in range(tasks):
        spec = lib.TaskSpec(
            stmt=draw.choice(["f(x)", "g(x)\nh(x)"]), setup=draw.choice(["pass", "x = 1", "x = 1\ny = 2"]), label=draw.choice(["f", "g"]),
            sub_label=draw.choice(["small", "large one"]), description=draw.choice(["a", "another"]), num_threads=draw.choice([1, 2]),
            env=draw.choice(["old", "new"]) if seed % 3 == 0 else None)
        size = 10 ** draw.uniform(-8, 1)
        made.append(lib.Measurement(draw.choice([1, 10]), [size * (1 + draw.uniform(0, draw.choice([0.001, 0.2, 2])))
                                                           for _ in range(draw.choice([1, 2, 5, 40]))], spec))
    return made


@pytest.mark.parametrize("seed", range(30))
def test_measurements_say_the_same(seed):
    for a, b in zip(measurements(ours, seed), measurements(theirs, seed), strict=True):
        assert [a.median, a.mean, a.iqr] == pytest.approx([b.median, b.mean, b.iqr], abs=1e-18, rel=1e-12)
        assert (a.significant_figures, a.has_warnings, a.title, a.as_row_name) == (b.significant_figures, b.has_warnings, b.title, b.as_row_name)
        assert a.meets_confidence(0.3) == b.meets_confidence(0.3)
        assert repr(a).splitlines()[1:] == repr(b).splitlines()[1:]
        assert (a.stmt, a.num_threads, a.label) == (b.stmt, b.num_threads, b.label)


@pytest.mark.parametrize("seed", range(30))
def test_tables_are_the_same(seed):
    for change in ((), ("trim_significant_figures",), ("highlight_warnings",), ("colorize",), ("trim_significant_figures", "highlight_warnings")):
        texts = []
        for lib in (ours, theirs):
            table = lib.Compare(measurements(lib, seed))
            for name in change:
                getattr(table, name)()
            texts.append(str(table))
        assert texts[0] == texts[1]
    tables = [lib.Compare(measurements(lib, seed)) for lib in (ours, theirs)]
    for table in tables:
        table.colorize(rowwise=True)
    assert str(tables[0]) == str(tables[1])


@pytest.mark.parametrize("x", [3.14159, 0.00271, 99999.0, 12.0, 1e-7])
def test_numbers_are_trimmed_alike(x):
    for n in (1, 2, 3):
        assert ours.trim_sigfig(x, n) == theirs.trim_sigfig(x, n)
    assert ours.select_unit(x) == theirs.select_unit(x)


def fuzzer(lib, top, seed: int):
    P, T = lib.FuzzedParameter, lib.FuzzedTensor
    return lib.Fuzzer(
        [P("dim", 1, 3, "uniform"), [P(f"k{i}", 2, 64, "loguniform") for i in range(3)], P("step", 1, 3, "uniform", strict=True),
         P("p", 0.0, 1.0, "uniform")],
        [T("x", size=("k0", "k1", "k2"), steps=("step", 1, "step"), min_elements=8, max_elements=4000, dim_parameter="dim",
           probability_contiguous=0.4), T("y", size=("k0", 3), dtype=top.int32, max_allocation_bytes=400)],
        constraints=[lambda params: params["k0"] != params["k1"]], seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_fuzzers_make_the_same_tensors(seed):
    a, b = fuzzer(ours, claygrad, seed), fuzzer(theirs, torch, seed)
    for (tensors, properties, params), (wanted, wanted_properties, wanted_params) in zip(a.take(6), b.take(6), strict=True):
        assert params == wanted_params
        for name in ("x", "y"):
            assert np.array_equal(tensors[name].numpy(), wanted[name].numpy())
            assert tensors[name].stride() == wanted[name].stride()
            for key, value in properties[name].items():
                assert str(value).replace("claygrad", "torch") == str(wanted_properties[name][key])
    assert a.rejection_rate == b.rejection_rate


@pytest.mark.parametrize("coalesced", [True, False])
def test_sparse_fuzzers_too(coalesced):
    made = []
    for lib in (ours, theirs):
        P = lib.FuzzedParameter
        made.append(list(lib.Fuzzer([P("n", 4, 9, "uniform"), P("density", 0.2, 0.6, "uniform"), P("coalesced", int(coalesced), int(coalesced), "uniform"),
                                     P("sparse_dim", 1, 2, "uniform")],
                                    [lib.FuzzedSparseTensor("s", size=("n", "n"), sparse_dim="sparse_dim", density="density",
                                                            coalesced="coalesced")], seed=3).take(4)))
    for (tensors, properties, _), (wanted, wanted_properties, _) in zip(*made, strict=True):
        assert np.allclose(tensors["s"].to_dense().numpy(), wanted["s"].to_dense().numpy())
        assert re.sub("claygrad", "torch", str(properties["s"])) == str(wanted_properties["s"])


def test_every_public_name_is_there():
    missing = [name for name in dir(theirs) if not name.startswith("_") and "benchmark" in str(getattr(getattr(theirs, name), "__module__", ""))
               and not hasattr(ours, name)]
    assert missing == []
