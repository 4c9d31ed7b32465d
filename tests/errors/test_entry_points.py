"""Every public function of Python is an entry point: an exception that a program catches says the line, too."""
from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from collections.abc import Callable

import pytest

import claygrad
from claygrad.nn.utils import prune

# The command line and comparisons of tests, which say all themselves; overrides, asked at every operation; results of the
# profiler and of benchmarks; parts for other packages.
LEFT_OUT = ("compat", "core", "native", "errors", "ops", "cli", "array_api", "overrides", "compiler", "futures", "utils.benchmark",
            "devices", "debug", "utils.pytree", "utils.hooks", "xpu", "cuda", "types", "memory", "multiprocessing.reductions",
            "distributed.run", "testing")
GENERATOR = 0x20 | 0x80 | 0x200


def public_modules() -> list[types.ModuleType]:
    names = [info.name for info in pkgutil.walk_packages(claygrad.__path__, "claygrad.")]
    inside = [name.removeprefix("claygrad.") for name in names]
    return [importlib.import_module(f"claygrad.{name}") for name in inside
            if not any(part.startswith("_") for part in name.split("."))
            and not any(name == left or name.startswith(left + ".") for left in LEFT_OUT) and "mpi" not in name]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on a guarded function looks like any other")
def test_public_functions_are_guarded() -> None:
    bare = sorted({f"{value.__module__}.{key}" for module in public_modules() for key, value in vars(module).items()
                   if type(value) is types.FunctionType and key in getattr(module, "__all__", ())
                   and (value.__module__ or "").startswith("claygrad.") and value.__module__ != "claygrad._lazy"
                   and ".compat." not in value.__module__ and not value.__code__.co_flags & GENERATOR})
    assert bare == []


ones = claygrad.ones


@pytest.mark.parametrize("wrong", [
    lambda: claygrad.func.vmap(claygrad.add)(ones(3), ones(4)),
    lambda: claygrad.func.grad(lambda x: x * 2)(ones(3)),
    lambda: claygrad.func.jacrev(lambda x: x.long())(ones(3)),
    lambda: claygrad.func.vmap(lambda x: x.item())(ones(3)),
    lambda: prune.l1_unstructured(claygrad.nn.Linear(2, 2), "weight", amount=1.5),
    lambda: claygrad.testing.make_tensor(2, dtype=claygrad.float32, device="cpu", low=3, high=1),
    lambda: claygrad.autograd.forward_ad.make_dual(ones(2), ones(2)),
])
def test_a_caught_error_names_the_line(wrong: Callable[[], object]) -> None:
    with pytest.raises(Exception) as caught:
        wrong()
    assert "test_entry_points.py:" in str(caught.value)


def freeze_another() -> None:
    for p in claygrad.nn.Linear(1, 1).parameters():
        p.requires_grad = False


def test_what_another_function_froze_is_not_blamed() -> None:
    with pytest.raises(RuntimeError) as caught:
        claygrad.ones(2).sum().backward()
    assert "frozen" not in str(caught.value)


def test_what_a_called_function_froze_is_named() -> None:
    freeze_another()
    with pytest.raises(RuntimeError) as caught:
        claygrad.ones(2).sum().backward()
    assert "frozen" in str(caught.value)


def test_floating_point_is_no_integer() -> None:
    with pytest.raises(TypeError) as caught:
        claygrad.set_default_dtype(claygrad.int64)
    assert ".long()" not in str(caught.value)
