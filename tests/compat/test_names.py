"""Names that other packages ask for: they are found under both names, and refuse to be used with a reason."""

from __future__ import annotations

import enum
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import claygrad
import claygrad.distributed.fsdp
from claygrad.cli.check import MISSING, resolve
from claygrad.compat import names

ASKED = [line.split() for line in Path(__file__).with_name("asked.txt").read_text().splitlines()]
SHARE = 0.90            # of the names that public packages mention; what is left belongs to features, not to names
TABLE = names.table()


def test_the_names_that_public_packages_mention_are_there() -> None:
    missing = {name for name, _ in ASKED if resolve(name) is MISSING}
    assert 1 - len(missing) / len(ASKED) >= SHARE, sorted(missing)


@pytest.mark.parametrize("part", sorted({".".join(name.split(".")[:2]) for name in TABLE}))
def test_every_name_of_the_table_is_made(part: str) -> None:
    for module, known in TABLE.items():
        if module != part and not module.startswith(part + "."):
            continue
        held = importlib.import_module(names.our_name(module))
        for name in known:
            assert hasattr(held, name) or names.find(names.our_name(module), name) is not None or known[name][1].endswith(" None"), \
                f"{module}.{name}"


def _of_kind(kind: str) -> list[tuple[str, str]]:
    """Names of the table of one kind, without those that claygrad or an answer has itself."""
    found = []
    for module, known in TABLE.items():
        if any(word in module for word in (".config", "torch._C")) or names.answers(names.our_name(module)):
            continue
        own = vars(importlib.import_module(names.our_name(module)))
        found += [(module, name) for name, (what, _) in known.items() if what == kind and name not in own]
    return found


FUNCTIONS = _of_kind("function")


@pytest.mark.parametrize(("module", "name"), [one for one in FUNCTIONS if names._ASKS.fullmatch(one[1])])
def test_a_part_that_is_only_a_name_is_not_available(module: str, name: str) -> None:
    assert names.make(module, name, "function", "")() is False


@pytest.mark.parametrize(("module", "name"), [one for one in FUNCTIONS if not names._ASKS.fullmatch(one[1])][::23])
def test_a_function_that_is_only_a_name_refuses_to_be_called(module: str, name: str) -> None:
    made = names.make(module, name, "function", "")
    with pytest.raises(NotImplementedError) as told:
        made()
    first, *rest = str(told.value).splitlines()
    assert first == f"{module}.{name} is only a name in claygrad"
    assert rest, "no reason and no way out"


@pytest.mark.parametrize(("module", "name"), _of_kind("class")[::23])
def test_a_class_that_is_only_a_name(module: str, name: str) -> None:
    made = names.make(module, name, "class", "")
    assert not isinstance(3, made)
    assert made | None
    assert made[int]
    derived = type("Derived", (made,), {"__init__": lambda self: None})
    assert isinstance(derived(), made)
    with pytest.raises(NotImplementedError, match="only a name in claygrad"):
        made()


@pytest.mark.parametrize("use", [list, len, lambda made: 3 in made, lambda made: made()])
def test_an_object_that_is_only_a_name_refuses_to_be_gone_through(use) -> None:
    made = names.make("torch.backends", "some_list", "object", "")
    assert made
    with pytest.raises(NotImplementedError, match=r"torch\.backends\.some_list is only a name in claygrad"):
        use(made)


def test_there_is_no_engine_for_quantized_tensors() -> None:
    assert claygrad.backends.quantized.supported_engines == [claygrad.backends.quantized.engine] == ["none"]


def test_classes_have_the_bases_that_except_and_isinstance_look_at() -> None:
    assert issubclass(claygrad.distributed.DistBackendError, RuntimeError)
    assert issubclass(claygrad.distributed.fsdp.FullyShardedDataParallel, claygrad.nn.Module)
    assert issubclass(claygrad.distributed.fsdp.ShardingStrategy, enum.Enum)
    one = importlib.import_module("claygrad.distributed.fsdp.fully_sharded_data_parallel")
    assert one.FullyShardedDataParallel is claygrad.distributed.fsdp.FullyShardedDataParallel


def test_imports_under_both_names() -> None:
    program = """
import claygrad
import claygrad.distributed.fsdp
from claygrad.distributed.fsdp import FullyShardedDataParallel as Ours
import claygrad._dynamo.config
claygrad.as_torch()
import torch.distributed.fsdp
from torch.distributed.fsdp import *
from torch._C import _log_api_usage_once
from torch.utils import _pytree, cpp_extension
import torch.utils._pytree as again
import torch.nn.parallel.distributed, torch.cuda.amp.common, torch.ao.quantization
assert Ours is torch.distributed.fsdp.FullyShardedDataParallel is FullyShardedDataParallel
assert _pytree is again
print(torch.distributed.is_available(), torch.cuda.is_bf16_supported(), torch.distributed.group.WORLD)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "False False None\n"), done.stderr


def test_importing_claygrad_reads_no_table() -> None:
    program = "import json, sys, claygrad; print(json.dumps([m for m in sys.modules if 'claygrad.compat' in m]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == []


def test_unknown_names_stay_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'reluu'"):
        claygrad.reluu
    with pytest.raises(AttributeError, match="has no attribute 'init_process_groups'"):
        claygrad.distributed.init_process_groups
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("claygrad.distributed.fdsp")


@pytest.mark.parametrize("name", ["_dynamo", "_inductor"])
def test_settings_can_be_set_and_patched(name: str) -> None:
    config: ModuleType = importlib.import_module(f"claygrad.{name}.config")
    option = "verbose" if name == "_dynamo" else "freezing"
    former = getattr(config, option)
    with config.patch({option: 3}):
        assert getattr(config, option) == 3
    with config.patch(option, 4):
        assert getattr(config, option) == 4
    assert getattr(config, option) == former


def test_a_tensor_has_no_tangent() -> None:
    forward_ad = claygrad.autograd.forward_ad
    x = claygrad.ones(2, requires_grad=True)
    assert forward_ad.unpack_dual(x).primal is x
    assert forward_ad.unpack_dual(x).tangent is None
    value, tangent = forward_ad.unpack_dual(x, level=0)
    assert value is not x
    assert value.data_ptr() == x.data_ptr()
    assert tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, x)


def test_names_that_only_refuse_can_be_imported() -> None:
    import claygrad
    assert callable(claygrad.func.debug_unwrap)
    with pytest.raises(NotImplementedError, match="functions are not compiled"):
        claygrad.func.debug_unwrap(claygrad.ones(1))


def test_the_list_of_public_names_is_there() -> None:
    import claygrad
    assert {"abs", "Tensor", "float32", "autocast", "no_grad"} <= set(claygrad.__all__)
    assert not {"nn", "optim"} & set(claygrad.__all__)
    assert all(hasattr(claygrad, name) for name in claygrad.__all__)


@pytest.mark.parametrize("module", sorted(names.reexports()))
def test_a_name_is_found_where_a_module_of_pytorch_imports_it(module: str) -> None:
    def found(path: str, name: str) -> object:
        held = importlib.import_module(names.our_name(path))
        return getattr(held, name) if hasattr(held, name) else names.find(names.our_name(path), name)

    for name, home in names.reexports()[module].items():
        assert found(module, name) is found(home, name), f"{module}.{name}"


def test_modules_are_attributes_of_the_module_above() -> None:
    with claygrad.as_torch():
        for name in TABLE:
            home, _, last = name.rpartition(".")
            if home:
                module, found = importlib.import_module(name), getattr(importlib.import_module(home), last)
                assert found is module or not isinstance(found, ModuleType), name       # a function may have that name, too


def test_every_module_of_pytorch_can_be_imported() -> None:
    modules = names._inner_modules()
    assert len(modules) > 1000
    found: list[bool] = []
    with claygrad.as_torch():
        for module in sorted(modules)[::3]:
            held = importlib.import_module(module)
            for name, (kind, text) in modules[module].items():
                if kind == "same":
                    found.append(hasattr(held, name))
                    continue
                value = getattr(held, name)
                assert isinstance(value, type) or not kind.startswith("class"), f"{module}.{name}"
                assert kind != "value" or repr(value) == text
    assert sum(found) > SHARE * len(found)              # what a module imports from another


def test_settings_in_groups_can_be_set_and_patched() -> None:
    with claygrad.as_torch():
        config = importlib.import_module("torch._inductor.config")
        assert config.triton.unique_kernel_names is True
        with config.patch({"triton.unique_kernel_names": False, "debug": True}):
            assert (config.triton.unique_kernel_names, config.debug) == (False, True)
        assert (config.triton.unique_kernel_names, config.debug) == (True, False)
        config.cpp.threads = 3
        assert config.cpp.threads == 3


def test_a_function_of_an_inner_module_refuses_to_be_called() -> None:
    with claygrad.as_torch():
        partitioners = importlib.import_module("torch._functorch.partitioners")
        with pytest.raises(NotImplementedError, match="is only a name in claygrad"):
            partitioners.min_cut_rematerialization_partition()


def test_a_package_finds_the_modules_below_it() -> None:
    with claygrad.as_torch():
        for package in names._inner_modules():
            assert all(home != package for home in (text.rpartition(".")[0] for _, text in names._inner_modules()[package].values()))
        assert importlib.import_module("torch.utils.data._utils").signal_handling is \
            importlib.import_module("torch.utils.data._utils.signal_handling")
