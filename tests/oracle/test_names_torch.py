"""What programs that train import: every public name of PyTorch's is here, with the same arguments and methods.

Names come from the installed PyTorch. What is left out stands in LEFT_OUT with its reason, and a reason that no longer
holds fails.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import types
from typing import Any

import pytest
import torch
import torch.nn.attention

import claygrad

MODULES = """nn nn.functional nn.init nn.modules nn.parallel nn.parameter nn.attention
    nn.utils nn.utils.clip_grad nn.utils.fusion nn.utils.memory_format nn.utils.parametrizations nn.utils.parametrize
    nn.utils.prune nn.utils.rnn nn.utils.stateless
    optim optim.lr_scheduler optim.swa_utils
    distributions distributions.constraint_registry distributions.constraints distributions.kl distributions.transforms
    distributions.utils
    utils.checkpoint utils.data utils.data.dataloader utils.data.dataset utils.data.distributed utils.data.sampler
    utils.hooks
    amp cpu cpu.amp cuda.amp random serialization autograd.functional
    backends backends.cpu backends.mkl backends.mkldnn backends.openmp backends.opt_einsum
    distributed distributed.nn.functional distributed.algorithms.join distributed.algorithms.ddp_comm_hooks.default_hooks
    distributed.optim distributed.fsdp.wrap""".split()

LEFT_OUT = {
    "processes find each other through MPI; stores have no queues": "distributed.QueueEmptyError distributed.register_rendezvous_handler distributed.rendezvous",
    "arguments and parts of PyTorch's engines": "distributed.AllToAllOptions distributed.AllreduceCoalescedOptions distributed.AllreduceOptions "
        "distributed.BackendConfig distributed.BarrierOptions distributed.BroadcastOptions distributed.GatherOptions distributed.Logger "
        "distributed.ProcessGroupGloo distributed.ReduceOptions distributed.ReduceScatterOptions distributed.Reducer "
        "distributed.ScatterOptions distributed.breakpoint distributed.get_debug_level distributed.record_comm distributed.set_debug_level "
        "distributed.set_debug_level_from_env",
    "groups that change or have a shape; several tensors in one call": "distributed.shrink_group "
        "distributed.split_group",
    "of rpc, and rare ways to train": "distributed.optim.DistributedOptimizer distributed.optim.PostLocalSGDOptimizer "
        "distributed.optim.as_functional_optim",
    "kernels of GPUs, and of dtypes of eight bits": "nn.functional.ScalingType nn.functional.SwizzleType "
        "nn.functional.grouped_mm nn.functional.scaled_grouped_mm nn.functional.scaled_mm "
        "nn.attention.activate_flash_attention_impl "
        "nn.attention.current_flash_attention_impl nn.attention.list_flash_attention_impls "
        "nn.attention.register_flash_attention_impl nn.attention.restore_flash_attention_impl cpu.get_capabilities",
    "TorchScript's": "nn.functional.BroadcastingList1 nn.functional.BroadcastingList2 nn.functional.BroadcastingList3 "
        "nn.functional.assert_int_or_pair nn.functional.boolean_dispatch",
    "tensors that are not tensors; claygrad's protocol is another": "nn.functional.handle_torch_function "
        "nn.functional.has_torch_function nn.functional.has_torch_function_unary "
        "nn.functional.has_torch_function_variadic",
    "an import, not an offer": "nn.functional.Tensor serialization.mkdtemp distributed.nn.functional.group",
    "pipes, which PyTorch gave up": "utils.data.DFIterDataPipe utils.data.DataChunk utils.data.IterDataPipe "
        "utils.data.MapDataPipe utils.data.argument_validation "
        "utils.data.guaranteed_datapipes_determinism utils.data.non_deterministic utils.data.runtime_validation "
        "utils.data.runtime_validation_disabled",
    "operators that a selective checkpoint does not count": "utils.checkpoint.SAC_IGNORED_OPS",
    "the old file format, other devices, and options of PyTorch's reader": "serialization.SourceChangeWarning "
        "serialization.StorageType serialization.check_module_version_greater_or_equal "
        "serialization.default_restore_location serialization.get_crc32_options serialization.get_default_mmap_options "
        "serialization.location_tag serialization.normalize_storage_type serialization.register_package "
        "serialization.set_crc32_options serialization.set_default_mmap_options serialization.skip_data "
        "serialization.storage_to_tensor_type serialization.validate_cuda_device serialization.validate_hpu_device",
    "of worker threads inside PyTorch": "random.thread_safe_generator",
}
REASONS = {name: reason for reason, names in LEFT_OUT.items() for name in names.split()}

# Other words for the same: a default that is found when the call is made, a parameter more that is claygrad's own.
OTHER_DEFAULTS = {"utils.data.random_split", "utils.data.dataset.random_split"}
# A mesh is made from its ranks here; what PyTorch keeps inside differs.
MORE = {"utils.hooks.RemovableHandle": {"fn"},
        "distributed.DeviceMesh": {"mesh", "_init_backend", "_groups", "_root", "_rank", "_layout", "_rank_map", "_root_mesh"}}
# Members of classes that are PyTorch's inside, or types.
INNER = {"T_destination", "OptimizerPreHook", "OptimizerPostHook", "compile"}
OTHERS = {"RNNBase.forward", "DataParallel.gather", "DataParallel.parallel_apply", "DataParallel.replicate",
          "DataParallel.scatter", "DistributedDataParallel.gather", "DistributedDataParallel.scatter",
          "DistributedDataParallel.to_kwargs", "DistributedDataParallel.broadcast_buffers"}
# Classes of PyTorch's C++ that programs hold and hand on; what they call is compared as functions. Stores have no queues and
# no barrier here, and a mesh is made from its ranks alone.
HANDLES = {"Backend", "BuiltinCommHookType", "DebugLevel", "DeviceMesh", "FileStore", "HashStore", "PrefixStore", "ProcessGroup",
           "ReduceOp", "Store", "TCPStore", "Work"}
# Methods of tensors and of their functions are compared elsewhere; this enumeration is C++.
ELSEWHERE = torch.Tensor | torch.autograd.Function | torch.nn.attention.SDPBackend


def found(lib: Any, path: str) -> Any:
    return importlib.import_module(f"{lib.__name__}.{path}")


def real(path: str, name: str) -> Any:
    """What claygrad has of that name; None where it is only a name that refuses to be used."""
    value = getattr(found(claygrad, path), name, None)
    return None if "is only a name in claygrad" in str(getattr(value, "__doc__", "")) else value


def names(module: Any) -> list[str]:
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(name for name, value in vars(module).items() if not name.startswith("_")
                  and not isinstance(value, types.ModuleType) and str(getattr(value, "__module__", "")).startswith("torch"))


def told(thing: Any) -> list[tuple[str, str, Any]] | None:
    """Names, kinds and defaults of the arguments; None where Python cannot tell, or a wrapper takes them all."""
    try:
        given = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None
    if [p.kind for p in given if p.name != "self"] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return None
    return [(p.name, p.kind.name, word(p.default)) for p in given]


def word(default: Any) -> Any:
    if callable(default):
        default = getattr(default, "__name__", default)
    return repr(default).replace("claygrad", "torch")


def agree(ours: Any, theirs: Any, what: str) -> None:
    want, got = told(theirs), told(ours)
    if want is None:
        return
    assert got is not None, f"{what}: any arguments are taken"
    kept = MORE.get(what, set()) | ({"out"} if "functional" in what else set())     # operations of claygrad all take out=
    got, want = ([one for one in given if one[0] not in kept] for given in (got, want))
    if what in OTHER_DEFAULTS:
        got, want = ([one[:2] for one in given] for given in (got, want))
    assert got == want, what


@pytest.mark.parametrize("path", MODULES)
def test_public_names_are_there_with_the_same_arguments(path: str):
    for name in names(found(torch, path)):
        what = f"{path}.{name}"
        ours, theirs = real(path, name), getattr(found(torch, path), name, None)
        if what in REASONS:
            assert ours is None, f"{what} is there now: it needs no reason why not"
            continue
        assert (ours is None) == (theirs is None), f"{what} is missing"
        if not isinstance(theirs, types.ModuleType | None):
            agree(ours, theirs, what)


@pytest.mark.parametrize("path", [path for path in MODULES if path != "nn.modules"])        # they are in `nn` too
def test_classes_have_the_same_methods(path: str):
    for name in names(found(torch, path)):
        ours, theirs = getattr(found(claygrad, path), name, None), getattr(found(torch, path), name, None)
        if not inspect.isclass(theirs) or f"{path}.{name}" in REASONS or issubclass(theirs, enum.Enum | ELSEWHERE) or name in HANDLES:
            continue
        for key, value in inspect.getmembers(theirs):
            if key.startswith("_") or key in INNER or f"{name}.{key}" in OTHERS:
                continue
            assert hasattr(ours, key), f"{path}.{name}.{key} is missing"
            if callable(value) and not inspect.isclass(value):
                agree(getattr(ours, key), value, f"{path}.{name}.{key}")


def test_reasons_are_for_names_there_are():
    assert set(REASONS) <= {f"{path}.{name}" for path in MODULES for name in names(found(torch, path))}
