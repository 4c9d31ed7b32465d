"""`torch._C`: what public packages ask of PyTorch's inner library."""
from __future__ import annotations

import contextlib
from typing import Any

import claygrad
from claygrad.compat.refusing import always
from claygrad.core import Generator, Size, Tensor, determinism, device, dtype
from claygrad.core.clones import address_of, has_lazy_clones
from claygrad.core.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_dispatch_impl,
    _disabled_torch_function_impl,
    mode_stack,
)
from claygrad.core.overrides import mode_is_active as _is_torch_function_mode_enabled
from claygrad.core.overrides import overrides_are_on as _is_torch_function_enabled
from claygrad.core.overrides import pop_mode as _pop_torch_function_stack
from claygrad.core.overrides import push_mode as _push_on_torch_function_stack

_nothing = always(None)
_no = always(False)

TensorBase = _TensorBase = Tensor
StorageBase = claygrad.UntypedStorage
_TensorMeta = type(Tensor)
_log_api_usage_once = _log_api_usage_metadata = _nothing
_get_tracing_state = _get_privateuse1_backend_name_or_none = _nothing
_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_override_can_fuse_on_cpu = _no
_jit_override_can_fuse_on_gpu = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _no
_jit_set_nvfuser_guard_mode = _jit_set_nvfuser_single_node_mode = _jit_set_nvfuser_horizontal_mode = _no
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _jit_nvfuser_enabled = _jit_texpr_fuser_enabled = _no
_jit_set_fusion_strategy = _jit_set_bailout_depth = _jit_set_num_profiled_runs = _nothing
_debug_only_display_vmap_fallback_warnings = _debug_set_autodiff_subgraph_inlining = _nothing
_is_tracing = _are_functorch_transforms_active = _no
_cuda_isInBadFork = _is_multithreading_enabled = _cuda_isCurrentStreamCapturing = _no
_cuda_clearCublasWorkspaces = _cuda_emptyCache = _nothing
_cuda_getDeviceCount = _mps_is_available = always(0)
_has_cuda = _has_xpu = _has_mps = has_cuda = has_cudnn = has_mps = _has_distributed = has_mkldnn_tf32 = False
has_openmp = has_mkl = has_lapack = has_mkldnn = True
_GLIBCXX_USE_CXX11_ABI = True
_get_accelerator = always(device("cpu"))
_get_privateuse1_backend_name = always("privateuseone")
_current_graph_task_id = always(-1)
_current_autograd_node = _nothing
_len_torch_dispatch_stack = _get_dispatch_stack_len = always(0)
_storage_Use_Count = always(1)


def _len_torch_function_stack() -> int:
    return len(mode_stack())


def _get_function_stack_at(place: int) -> Any:
    return mode_stack()[place]


class _DisableTorchDispatch(contextlib.ContextDecorator):
    """A context without dispatch modes: none is on."""

    def __enter__(self) -> None:
        """Nothing to turn off."""

    def __exit__(self, *exc: object) -> None:
        """Nothing to turn on again."""


class _DisableFuncTorch(_DisableTorchDispatch):
    """A context without function transforms: none is on."""


class _AutoDispatchBelowAutograd(claygrad.no_grad):
    """A context in which operations record no graph."""


class DispatchKeySet:
    """A set of the keys that PyTorch would dispatch by; here they lead nowhere."""

    def __init__(self, key: Any = None) -> None:
        self.keys = frozenset() if key is None else frozenset([key])

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self.keys | other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self.keys & other.keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self.keys - other.keys)

    @classmethod
    def _of(cls, keys: frozenset[Any]) -> DispatchKeySet:
        made = cls()
        made.keys = keys
        return made

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more key."""
        return self._of(self.keys | {key})

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return self._of(self.keys - {key})

    def has(self, key: Any) -> bool:
        """Whether a key is among them."""
        return key in self.keys


def _get_default_device() -> str:
    return str(claygrad.get_default_device())


def _get_cudnn_enabled() -> bool:
    return bool(claygrad.backends.cudnn.enabled)


def _is_alias_of(a: Tensor, b: Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()



def _storage_address(tensor: Tensor) -> int:
    """What tells storages apart."""
    return tensor.untyped_storage()._cdata


def _data_address(tensor: Tensor) -> int:
    """Where the bytes of a tensor's storage lie; a lazy clone stays one."""
    return address_of(tensor.untyped_storage())


def _is_cow_tensor(tensor: Tensor) -> bool:
    """Whether a write would part the tensor from lazy clones."""
    return has_lazy_clones(tensor.untyped_storage())


def _get_deterministic_fill_uninitialized_memory() -> bool:
    return determinism.asked_to_fill()


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    claygrad.utils.deterministic.fill_uninitialized_memory = mode


def _set_math_sdp_allow_fp16_bf16_reduction(allow: bool) -> None:
    claygrad.backends.cuda.allow_fp16_bf16_reduction_math_sdp(allow)


def get_num_interop_threads() -> int:
    return claygrad.get_num_interop_threads()


def _get_tensor_dtype(text: str) -> dtype:
    return getattr(claygrad, text)


