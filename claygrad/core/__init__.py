"""The compiled core: storage, tensors, graph, engine, and what happens when an operation is called."""
import os

try:
    import claygrad.core.data.dtype
except ModuleNotFoundError as error:
    if error.name != "claygrad.core.data.dtype":
        raise
    sources = os.path.dirname(os.path.dirname(__file__))
    raise ImportError(f"""claygrad was imported from its sources, where nothing is compiled: {sources}
  Start Python in another folder, where an installed claygrad is found;
  or compile this one, which takes some minutes: `pip install .`, or `pip install -e .` to work on it,
  or `make test`, which does so in a virtual environment of its own.""") from None

from claygrad.core.python_api import (
    adopt,
    array_of,
    ask_for_self,
    attach,
    empty,
    empty_cache,
    empty_strided,
    fresh_storage,
    get_num_threads,
    gradient_edge_of,
    has_blas,
    host_array,
    increment_version,
    instruction_set,
    is_wrapper,
    memory_stats,
    on_storage,
    recast,
    refuse_unwritable,
    require_grad,
    set_elements,
    set_num_threads,
    settled,
    share,
    storage_shares,
    take_grads_as,
    without_writes,
    wrap,
    wrap_on,
    write_into,
)
import claygrad.core.dispatch.accelerator
from claygrad.core.dispatch.call import conj, install, into
import claygrad.core.dispatch.intercepted
from claygrad.core.op import Op, constant, declare, missing, op_named, zero
from claygrad.core.data.device import device, get_default_device, parse_device, set_default_device
from claygrad.core.data.dtype import (
    DTYPES,
    default_dtype,
    dtype,
    dtype_of_numpy,
    get_default_dtype,
    parse_dtype,
    prefix,
    promote_types,
    recast_array,
    set_default_dtype,
    set_prefix,
)
from claygrad.core.graph.engine import current_run, one_like, run_backward, will_run
from claygrad.core.graph.function import Function, once_differentiable
from claygrad.core.dispatch.operators import install_verbs
from claygrad.core.dispatch.promotion import result_type
from claygrad.core import shared_memory as sharing
from claygrad.core.graph.node import Node, RemovableHandle
from claygrad.core.data.storage import Storage
from claygrad.core.data.size import Size
from claygrad.core.tensor import UPCALLS, AccumulateGrad, Tensor

uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128, bool, bfloat16, *_ = DTYPES.values()
default_device = get_default_device

# What other parts may import from here; type checkers ask for such a list.
__all__ = [
    "DTYPES", "UPCALLS", "AccumulateGrad", "Function", "Node", "Op", "RemovableHandle", "Size", "Storage", "Tensor",
    "adopt", "array_of", "ask_for_self", "attach", "bfloat16", "bool", "complex64", "complex128", "conj", "constant",
    "current_run", "declare", "default_device", "default_dtype", "device", "dtype", "dtype_of_numpy", "empty",
    "empty_cache", "empty_strided", "float16", "float32", "float64", "fresh_storage", "get_default_device",
    "get_default_dtype", "get_num_threads", "gradient_edge_of", "has_blas", "host_array", "increment_version",
    "install", "install_verbs", "instruction_set", "int8", "int16", "int32", "int64", "into", "is_wrapper",
    "memory_stats",
    "missing", "on_storage", "once_differentiable", "one_like", "op_named", "parse_device", "parse_dtype", "prefix",
    "promote_types", "recast", "recast_array", "refuse_unwritable", "require_grad", "result_type", "run_backward",
    "set_default_device", "set_default_dtype", "set_elements", "set_num_threads", "set_prefix", "settled", "share",
    "sharing", "storage_shares", "take_grads_as", "uint8", "will_run", "without_writes", "wrap", "wrap_on",
    "write_into", "zero",
]
