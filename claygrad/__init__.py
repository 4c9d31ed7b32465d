"""claygrad: tensors with automatic differentiation. `import claygrad as torch` runs PyTorch's programs."""
from __future__ import annotations

import importlib as _importlib

import claygrad.ops as _declarations  # declares every operation, before anything names one
from claygrad import _friends, _lazy, autograd, cuda, memory, random, version
from claygrad.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from claygrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from claygrad.autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from claygrad._info import finfo, iinfo
from claygrad._legacy import TYPES as _TYPES
from claygrad._legacy import set_default_tensor_type, typename
from claygrad._settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from claygrad._printing import get_printoptions, printoptions, set_printoptions, tensor_text
from claygrad.core.cpython.entry_points import guard as _guard
from claygrad.core import (
    DTYPES,
    UPCALLS,
    Size,
    Storage,
    Tensor,
    device,
    dtype,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    promote_types,
    result_type,
    set_default_device,
    set_default_dtype,
    set_num_threads,
)
from claygrad.core.data.device import find_accelerators_by as _find_accelerators_by
from claygrad.native.random import Generator
from claygrad.ops._formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from claygrad.ops._registry import NAMESPACES as _NAMESPACES
from claygrad.ops._storages import CLASSES as _STORAGES
from claygrad.ops._storages import TypedStorage
from claygrad.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from claygrad.native.random import default_generator

_find_accelerators_by(lambda kind: __getattr__("devices").table_of(kind), lambda: __getattr__("devices").first_there())
UPCALLS.update({"tensor_text": tensor_text, "print_options": get_printoptions, "autograd.backward": autograd.backward,
             "sparse_module": lambda: __getattr__("sparse"),
             "entries": lambda parts: iter(parts),        # an override may give a tensor: Python counts these calls
             "vmap_module": lambda: _importlib.import_module("claygrad.func._vmap"),
             "override_forms": lambda: _importlib.import_module("claygrad._override_forms").override_forms(),
             "dispatch_module": lambda: _importlib.import_module("claygrad.utils._python_dispatch"),
             "wrapper": lambda *args, **kwargs: UPCALLS["dispatch_module"]().make_wrapper(*args, **kwargs)})
__version__ = version.__version__
inf, nan, pi, e = float("inf"), float("nan"), 3.141592653589793, 2.718281828459045
newaxis = None

globals().update(_NAMESPACES["torch"])
globals().update(DTYPES)
globals().update(_TYPES)
half, float, double = DTYPES["float16"], DTYPES["float32"], DTYPES["float64"]
chalf, cfloat, cdouble = DTYPES["complex32"], DTYPES["complex64"], DTYPES["complex128"]
short, int, long = DTYPES["int16"], DTYPES["int32"], DTYPES["int64"]
bit = DTYPES["uint1"]
UntypedStorage = Storage
del Storage                                 # `torch.Storage` is the typed one of the default dtype: __getattr__
globals().update(_STORAGES)
_storage_classes = {UntypedStorage, TypedStorage, *_STORAGES.values()}

_LAZY = tuple("""
    __config__ __future__ amp array_api backends compat compiler cpu
    debug devices distributed distributions fft func futures fx hub jit
    library linalg masked multiprocessing nn optim overrides profiler
    quasirandom return_types serialization signal sparse special storage testing types
    utils
""".split())
_LAZY_NAMES = {"save": "serialization", "load": "serialization", "as_torch": "compat", "GradScaler": "amp",
               "compile": "compiler", "vmap": "func", "Future": "futures", "ScriptModule": "jit",
               "ops": "library._operators"}
_LAZY_NAMES["graph"] = "debug.graphs"
_LAZY_NAMES.update(dict.fromkeys((
    "_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"), "amp.grad_scaler"))
_LAZY_NAMES.update(dict.fromkeys((
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
    "set_autocast_enabled"), "amp.autocast_mode"))
_LAZY_NAMES.update(dict.fromkeys((
    "_sparse_coo_tensor_unsafe", "hspmm", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "spmm"), "sparse"))
_LAZY_NAMES.update(dict.fromkeys((f"_foreach_{_base}{_mark}" for _mark in ("", "_") for _base in (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc add sub mul div maximum minimum clamp_max clamp_min pow "
    "addcdiv addcmul lerp").split()), "_foreach"))
_LAZY_NAMES.update(dict.fromkeys((
    "_foreach_clone", "_foreach_copy_", "_foreach_max", "_foreach_mm", "_foreach_norm", "_foreach_powsum",
    "_foreach_zero_"), "_foreach"))


# `claygrad.ops` is `torch.ops`, operators by their namespaces; the package of that name is found by imports.
del globals()["ops"]
_lazy_name = _lazy.lazy(__name__, _LAZY, _LAZY_NAMES)
_lazy.listen()


@_guard
def __getattr__(name: str) -> object:
    if name == "__all__":               # packages read it; made when it is asked for, as most of it is late
        return [one for one in __dir__() if not one.startswith("_") and one not in _LAZY
                and type(globals().get(one)) is not type(_lazy)]
    return _STORAGES[f"{get_default_dtype().legacy}Storage"] if name == "Storage" else _lazy_name(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})
