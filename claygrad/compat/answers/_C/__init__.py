"""`torch._C`: what public packages ask of PyTorch's inner library."""
from __future__ import annotations

import contextlib
import weakref
from typing import Any

import claygrad
from claygrad.autograd._tangents import enable
from claygrad.autograd._tangents import is_enabled as _is_fwd_grad_enabled
from claygrad.autograd.grad_mode import is_grad_enabled
from claygrad.autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from claygrad.autograd.grad_mode import set_multithreading_enabled as _multithreading
from claygrad.compat.refusing import always
from claygrad.core import Node, Size, Tensor, device, dtype
from claygrad.core.dispatch import determinism
from claygrad.native.random import Generator
from claygrad.core.data.lazy_clones import address_of, has_lazy_clones
from claygrad.core.graph.engine import current_node as _current_autograd_node
from claygrad.core.graph.engine import current_run as _current_graph_task_id
from claygrad.core.graph.engine import execution_order, run_returns, will_run
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
from claygrad.core.tensor import AccumulateGrad
from claygrad.utils._python_dispatch import _DisableTorchDispatch, _get_current_dispatch_mode_stack
from claygrad.utils._python_dispatch import _pop_mode as _pop_torch_dispatch_stack
from claygrad.utils._python_dispatch import _push_mode as _push_on_torch_dispatch_stack

_nothing = always(None)
_no = always(False)

TensorBase = _TensorBase = Tensor
_VariableFunctionsClass = _VariableFunctions = claygrad      # of which pickles of torch.add and others name attributes
StorageBase = claygrad.UntypedStorage
_LinAlgError = claygrad.linalg.LinAlgError
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
_cuda_isInBadFork = _cuda_isCurrentStreamCapturing = _no
_cuda_clearCublasWorkspaces = _cuda_emptyCache = _nothing
_cuda_getDeviceCount = _mps_is_available = always(0)
_has_cuda = _has_xpu = _has_mps = has_cuda = has_cudnn = has_mps = _has_distributed = has_mkldnn_tf32 = False
has_openmp = has_mkl = has_lapack = has_mkldnn = True
_GLIBCXX_USE_CXX11_ABI = True
_get_accelerator = always(device("cpu"))
_get_privateuse1_backend_name = always("privateuseone")
_storage_Use_Count = always(1)


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are entered."""
    return len(_get_current_dispatch_mode_stack())


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Whether operations compute tangents."""
    enable(mode)


def _len_torch_function_stack() -> int:
    return len(mode_stack())


def _get_function_stack_at(place: int) -> Any:
    return mode_stack()[place]


class _DisableFuncTorch(contextlib.ContextDecorator):
    """A context without function transforms: none of them stays on between operations."""

    def __enter__(self) -> None:
        """Nothing to turn off."""

    def __exit__(self, *exc: object) -> None:
        """Nothing to turn on again."""


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


def _set_multithreading_enabled(enabled: bool) -> None:
    _multithreading(enabled)


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes that the backward under way runs, in order."""
    if _current_graph_task_id() == -1:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if _is_multithreading_enabled():
        raise RuntimeError("get_current_graph_task_execution_order expects the current backward to be executed with "
                           "multithreading disabled, e.g. by running:\n\n>>> with "
                           "torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n")
    return execution_order()


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the backward under way runs a node."""
    if not isinstance(node, Node):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got " + type(node).__name__)
    if _current_graph_task_id() == -1:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if isinstance(node, AccumulateGrad) and run_returns():
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                           "autograd.grad(). This is currently not supported.")
    return will_run(node)


class _WeakTensorRef:
    """A weak reference to a tensor, which says whether it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._tensor() is None
