"""Sentences for public names that can have no docstring: numbers, dtypes, and attributes that are fields of the compiled object."""

from __future__ import annotations

import re

import claygrad
from claygrad.core import dtype

_TENSOR = """
data | A tensor that shares this one's memory and has no history: it does not require a gradient, and operations on it are not recorded.
data_ptr | The address of the first element.
detach_ | Cuts this tensor from its graph, in place.
device | The device of the tensor.
dim | The number of axes.
dtype | The type of the elements.
element_size | The size of an element in bytes.
get_device | The index of the device; -1 on the CPU.
grad | The gradient that backward has accumulated for this leaf, or None.
grad_fn | The graph node of the operation that computed this tensor; None for a leaf.
is_cpu | Whether the elements are in the CPU's memory.
is_cuda | Whether the elements are on a CUDA device.
is_inference | Whether the tensor was made in inference mode.
is_leaf | Whether this tensor is a leaf of the graph: it was not computed by a recorded operation.
is_meta | Whether the tensor has a shape and a dtype, but no memory.
is_quantized | False: there are no quantized tensors.
is_sparse | Whether the tensor is sparse in the COO layout.
itemsize | The size of an element in bytes.
nbytes | The size of all elements in bytes.
ndim | The number of axes.
ndimension | The number of axes.
nelement | The number of elements.
numel | The number of elements.
output_nr | The number of this tensor among the outputs of its node.
requires_grad | Whether operations on this tensor are recorded, so that gradients can be computed.
requires_grad_ | Sets `requires_grad` in place, and returns the tensor.
retains_grad | Whether this non-leaf tensor keeps its gradient: `retain_grad()` was called.
shape | The shape of the tensor: the size of each axis.
size | The shape of the tensor or, with `dim`, the size of one axis.
storage_offset | The position of the first element in the storage, counted in elements.
stride | The distance in memory between neighbouring elements along each axis (or along `dim`), counted in elements.
untyped_storage | The storage of this tensor: its memory as untyped bytes.
volatile | False. Deprecated in PyTorch.
"""
_OTHERS = """
torch.distributed.default_pg_timeout | How long a group's collectives wait if no timeout is given: 30 minutes.
torch.inf, claygrad.array_api.inf | Infinity, a float.
torch.nan, claygrad.array_api.nan | Not a number, a float.
torch.pi, claygrad.array_api.pi | π, a float.
torch.e, claygrad.array_api.e | Euler's number, a float.
torch.newaxis, claygrad.array_api.newaxis | None: in an index it adds an axis of size 1.
torch.strided | The layout of dense tensors.
torch.sparse_coo | The layout of sparse tensors with an index for each value.
torch.sparse_csr | The layout of sparse matrices compressed by rows.
torch.sparse_csc | The layout of sparse matrices compressed by columns.
torch.sparse_bsr | The layout of sparse matrices of blocks, compressed by rows.
torch.sparse_bsc | The layout of sparse matrices of blocks, compressed by columns.
torch.jagged | The layout of nested tensors, which claygrad does not have. Other packages compare with it.
torch.contiguous_format | The memory format whose last axis is the fastest.
torch.channels_last | The memory format of images whose channels are the fastest axis.
torch.channels_last_3d | The memory format of volumes whose channels are the fastest axis.
torch.preserve_format | The memory format of the input.
torch.get_num_threads | The number of threads that large operations use.
torch.set_num_threads | Sets the number of threads that large operations use.
torch.types.FileLike | For annotations: a path or an open file.
torch.is_anomaly_enabled | Whether `autograd.detect_anomaly` is on.
torch.is_anomaly_check_nan_enabled | Whether anomaly detection also looks for NaN.
torch.autograd.profiler.emit_itt | A context for a profiler of Intel's; does nothing here.
torch.autograd.profiler.emit_nvtx | A context for a profiler of NVIDIA's; does nothing here.
torch.distributions.biject_to | The one-to-one transform from all real numbers to a constraint.
torch.distributions.transform_to | A transform from all real numbers to a constraint, not always one-to-one.
torch.distributions.identity_transform, torch.distributions.transforms.identity_transform | The transform that changes nothing.
torch.profiler.supported_activities | What the profiler can record: the CPU.
torch.fx.PH | The mark of an argument that a trace leaves open.
torch.multiprocessing.AuthenticationError | Python's own: a connection with the wrong key.
torch.multiprocessing.BufferTooShort | Python's own: a message is longer than the buffer.
torch.multiprocessing.Process | Python's own: a process that runs a function.
torch.multiprocessing.ProcessError | Python's own: what errors of processes have in common.
torch.multiprocessing.TimeoutError | Python's own: a result did not come in time.
torch.multiprocessing.get_all_start_methods | Python's own: the ways in which processes can be started.
torch.multiprocessing.get_context | Python's own: the functions of this module, for one way of starting processes.
torch.multiprocessing.get_start_method | Python's own: how processes are started.
torch.multiprocessing.set_start_method | Python's own: chooses how processes are started.
torch.cuda.device_count | How many CUDA devices there are.
torch.cuda.is_available | Whether a CUDA device can be used.
torch.cuda.is_initialized | Whether CUDA has been used.
torch.types.Device | For annotations: what may name a device.
torch.types.Number | For annotations: an int, a float or a bool.
"""
_CONSTRAINTS = ("boolean corr_cholesky dependent lower_cholesky lower_triangular nonnegative nonnegative_integer one_hot positive "
                "positive_definite positive_integer positive_semidefinite real real_vector simplex square symmetric unit_interval")

_CREATION = "dtype=None, layout=torch.strided, device=None, requires_grad=False, pin_memory=False)"
_LIKE = "dtype=None, layout=None, device=None, requires_grad=False, memory_format=torch.preserve_format)"
# Signatures of callables whose own is missing or just (*args, **kwargs). Those that are called in several ways show the usual one.
SIGNATURES = {
    "torch.rand": f"(*size, generator=None, out=None, {_CREATION}",
    "torch.randn": f"(*size, generator=None, out=None, {_CREATION}",
    "torch.randint": f"(low=0, high, size, *, generator=None, out=None, {_CREATION}",
    "torch.randperm": f"(n, *, generator=None, out=None, {_CREATION}",
    "torch.rand_like": f"(input, *, {_LIKE}",
    "torch.randn_like": f"(input, *, {_LIKE}",
    "torch.randint_like": f"(input, low=0, high, *, {_LIKE}",
    "torch.normal": "(mean, std=1.0, size=None, *, generator=None, out=None)",
    "Tensor.cauchy_": "(median=0, sigma=1, *, generator=None)",
    "Tensor.exponential_": "(lambd=1, *, generator=None)",
    "Tensor.geometric_": "(p, *, generator=None)",
    "Tensor.log_normal_": "(mean=1, std=2, *, generator=None)",
    "Tensor.normal_": "(mean=0, std=1, *, generator=None)",
    "Tensor.random_": "(from=0, to=None, *, generator=None)",
    "Tensor.uniform_": "(from=0, to=1, *, generator=None)",
    "Tensor.swapaxes_": "(axis0, axis1)",
    "Tensor.swapdims_": "(dim0, dim1)",
    "Tensor.to_sparse": "(sparse_dims=None, *, layout=None, blocksize=None, dense_dim=None)",
    "Tensor.to": "(dtype=None, device=None, non_blocking=False, copy=False, memory_format=torch.preserve_format)",
    **dict.fromkeys(("torch.sparse_bsr_tensor", "torch.sparse_bsc_tensor"),
                    "(compressed_indices, plain_indices, values, size=None, *, dtype=None, device=None, requires_grad=False)"),
    **{f"torch.accelerator.{name}": "(device_index=None)" for name in (
        "get_memory_info max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_stats "
        "reset_accumulated_memory_stats reset_peak_memory_stats current_stream get_device_capability synchronize").split()},
    "torch.accelerator.current_device_idx": "()",
    "torch.accelerator.empty_cache": "()",
    "torch.accelerator.set_device_idx": "(device)",
    "torch.accelerator.set_stream": "(stream)",
    "Tensor.new": "(*args, device=None)",
    "Tensor.as_strided_": "(size, stride, storage_offset=None)",
    "Tensor.squeeze_": "(dim=None)",
    "Tensor.unsqueeze_": "(dim)",
    "Tensor.transpose_": "(dim0, dim1)",
    "Tensor.t_": "()",
    "torch.Generator": "(device='cpu')",
    "torch.Tensor": "(*args, device=None)",
    "torch.device": "(type, index=None)",
    "torch.dtype": "",
    "torch.autograd.Function": "",
    "torch.autograd.graph.Node": "",
    "torch.nn.Module": "()",
    "torch.nn.Identity": "(*args, **kwargs)",
    **dict.fromkeys(("torch.nn.GRU", "torch.nn.RNN"),
                    "(input_size, hidden_size, num_layers=1, {kind}bias=True, batch_first=False, dropout=0.0, bidirectional=False, "
                    "device=None, dtype=None)"),
    "torch.nn.LSTM": "(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, "
                     "proj_size=0, device=None, dtype=None)",
    **dict.fromkeys(("torch.gru", "torch.rnn_tanh", "torch.rnn_relu", "torch.lstm"),
                    "(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)"),
}
SIGNATURES["torch.nn.RNN"] = SIGNATURES["torch.nn.RNN"].format(kind="nonlinearity='tanh', ")
SIGNATURES["torch.nn.GRU"] = SIGNATURES["torch.nn.GRU"].format(kind="")


def _rows(text: str) -> dict[str, str]:
    found = {}
    for line in text.strip().splitlines():
        names, _, words = line.partition(" | ")
        found.update(dict.fromkeys(names.split(", "), words))
    return found


def _dtypes() -> dict[str, str]:
    found = {}
    for name, value in list(vars(claygrad).items()):
        if isinstance(value, dtype):
            own = str(value).rpartition(".")[2]
            found[f"torch.{name}"] = words = f"The dtype {own}." if name != own else _dtype_words(own)
            found[f"claygrad.array_api.{name}"] = words
        elif name.endswith("Tensor") and name != "Tensor":
            found[f"torch.{name}"] = f"The old name of the type of {name.removesuffix('Tensor').lower()} tensors; calling it makes one."
        elif name.endswith("Storage") and name not in ("UntypedStorage", "TypedStorage"):
            found[f"torch.{name}"] = f"The memory of a tensor as a row of elements: {name.removesuffix('Storage')}."
    return found


def _dtype_words(name: str) -> str:
    if name == "bool":
        return "True or False, a byte each."
    if match := re.fullmatch(r"(u?)int(8|16|32|64)", name):
        return f"{'Unsigned integers' if match[1] else 'Integers'} of {match[2]} bits."
    if name in ("float32", "float64"):
        return f"Floating point numbers of {name[5:]} bits{', the default' if name == 'float32' else ''}."
    if name == "float16":
        return "Floating point numbers of 16 bits, 11 of them the significand."
    if name == "bfloat16":
        return "Floating point numbers of 16 bits with the range of float32, 8 of them the significand."
    if match := re.fullmatch(r"complex(64|128)", name):
        return f"Complex numbers of two floats of {int(match[1]) // 2} bits."
    if name.startswith("float8"):
        return f"Floating point numbers of 8 bits, {name[7:]}: for storing and converting."
    return "A dtype that can be named and stored, with no arithmetic."


WORDS: dict[str, str] = {
    **{f"Tensor.{name}": words for name, words in _rows(_TENSOR).items()},
    **_rows(_OTHERS),
    **{f"torch.distributions.constraints.{name}": f"The constraint to be {name.replace('_', ' ')}." for name in _CONSTRAINTS.split()},
    **_dtypes(),
}
