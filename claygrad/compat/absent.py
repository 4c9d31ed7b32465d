"""What PyTorch has and claygrad has not: one table, with the reason and the way out.

Used by `__getattr__` of the package, by imports while claygrad stands in for torch, by `claygrad check` and by the
documentation. A name stands for all names below it.
"""
from __future__ import annotations

import difflib
import importlib
from typing import NamedTuple


class Absent(NamedTuple):
    """Why a name is not there, and what to do instead."""

    why: str
    instead: str


_NO_GRAPHS = "claygrad runs programs as they are written and keeps no compiled graphs"
_NO_DEVICE = "claygrad's devices are cpu, meta, xpu and cuda"
_STREAMS = "use torch.cuda.Stream or torch.xpu.Stream; on the CPU every call is done when it returns"

_NO_DISPATCHER = "operations are declared in Python, without a dispatcher"
_NOT_QUANTIZED = "there are no quantized tensors"
_FAKE_QUANTIZE = "use torch.fake_quantize_per_tensor_affine, whose result is float"
_NOT_OVER_MPI = "this part of torch.distributed is not there: processes communicate through MPI"
_LEAVE_OUT = "leave it out: nothing is compiled"
_LEAVE_OUT_SETTING = "leave it out: there is nothing to set"
_PUBLIC = "use the public names"

ABSENT: dict[str, Absent] = {
    "torch": Absent("claygrad has no counterpart to this part of PyTorch", "leave it out, or open an issue that says "
                    "what it is needed for"),
    "torch.Stream": Absent("streams and events belong to a device", _STREAMS),
    "torch.Event": Absent("streams and events belong to a device", _STREAMS.replace("Stream", "Event")),
    "torch.SymInt": Absent(_NO_GRAPHS, "sizes are plain ints"),
    "torch.SymFloat": Absent(_NO_GRAPHS, "sizes are plain ints"),
    "torch.SymBool": Absent(_NO_GRAPHS, "sizes are plain ints"),
    "torch.jit": Absent(_NO_GRAPHS, "use the module itself; save its state_dict()"),
    "torch.fx": Absent("this part of torch.fx serves compilers, which claygrad has not", "use torch.fx.symbolic_trace, "
                       "Graph and GraphModule"),
    "torch.export": Absent(_NO_GRAPHS, "save the state_dict() and the code of the model"),
    "torch.onnx": Absent(_NO_GRAPHS, "save the state_dict(), load it in PyTorch and export from there"),
    "torch.package": Absent(_NO_GRAPHS, "save the state_dict() and the code of the model"),
    "torch.compiler": Absent(_NO_GRAPHS, _LEAVE_OUT),
    "torch._dynamo": Absent(_NO_GRAPHS, _LEAVE_OUT),
    "torch._inductor": Absent(_NO_GRAPHS, _LEAVE_OUT),
    "torch._functorch": Absent(_NO_GRAPHS, "use torch.func"),
    "torch._subclasses": Absent(_NO_GRAPHS, "tensors on device 'meta' have shapes and no values"),
    "torch._higher_order_ops": Absent(_NO_GRAPHS, "write the loop or the branch in Python"),
    "torch.library": Absent(_NO_DISPATCHER, "use torch.library.custom_op, or autograd.Function"),
    "torch.ops": Absent(_NO_DISPATCHER, "call the function by its name"),
    "torch.classes": Absent(_NO_DISPATCHER, "write the class in Python"),
    "torch.hub": Absent("claygrad downloads nothing",
                        "download the file, then torch.load it; torch.hub.load takes a folder"),
    "torch.ao": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.quantization": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.nn.quantized": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.nn.quantizable": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.nn.intrinsic": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.nn.qat": Absent(_NOT_QUANTIZED, "use float16 or bfloat16"),
    "torch.distributed": Absent(_NOT_OVER_MPI, "use collectives, DistributedDataParallel or FullyShardedDataParallel: "
                                "docs/distributed.md"),
    "torch.nn.parallel": Absent("one process does not spread a tensor over several GPUs",
                                "use nn.parallel.DistributedDataParallel"),
    "torch.nn.attention": Absent("claygrad has one way to compute attention on each device, its own",
                                 "use nn.functional.scaled_dot_product_attention with a mask"),
    "torch.sparse": Absent("sparse tensors are those of coordinates and of rows or columns, on the CPU",
                           "use a dense tensor and a mask, or torch.sparse_coo_tensor"),
    "torch.quantize_per_tensor": Absent(_NOT_QUANTIZED, _FAKE_QUANTIZE),
    "torch.quantize_per_channel": Absent(_NOT_QUANTIZED, _FAKE_QUANTIZE),
    "torch.quantize_per_tensor_dynamic": Absent(_NOT_QUANTIZED, _FAKE_QUANTIZE),
    "torch.nested": Absent("there are no nested tensors", "pad, and mask what was padded"),
    "torch.profiler": Absent("there is no such part of the profiler", "use cProfile or py-spy"),
    "torch.autograd.profiler": Absent("there is no such part of the profiler", "use torch.profiler"),
    "torch.masked": Absent("tensors that carry a mask are not there",
                           "keep the mask in a tensor of its own: torch.masked.sum and others take it"),
    "torch.backends": Absent("claygrad has none of this library's settings", _LEAVE_OUT_SETTING),
    "torch.numa": Absent("claygrad binds no processes to memory", "use numactl"),
    "torch.utils.benchmark": Absent("there is no such part of the benchmarks",
                                    "use torch.utils.benchmark.Timer, or timeit"),
    "torch.utils.mobile_optimizer": Absent(_NO_GRAPHS, "use the module itself; save its state_dict()"),
    "torch.monitor": Absent("claygrad sends no statistics", "use tensorboard or logging"),
    "torch.func": Absent("functions are not compiled", "call the function itself"),
    "torch.cuda": Absent("claygrad's GPUs are CuPy's, which has no such thing", "docs/devices.md says what there is"),
    "torch.xpu": Absent("claygrad's xpu is dpnp's, which has no such thing", "docs/devices.md says what there is"),
    "torch.mps": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch.mtia": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch.accelerator": Absent("accelerators are array modules here, which have no such thing",
                                "docs/devices.md says what there is"),
    "torch.utils.cpp_extension": Absent("claygrad builds no extensions in C++", "write the operation in Python with "
                                        "torch.library.custom_op or autograd.Function"),
    "torch.utils._python_dispatch": Absent("this part serves PyTorch's compiler and its own tensor classes",
                                           "use TorchDispatchMode, or __torch_dispatch__ of a subclass"),
    "torch.utils.checkpoint": Absent("checkpoints keep all results of a part or none",
                                     "wrap the parts that are to be computed again in checkpoints of their own"),
    "torch.utils.data.datapipes": Absent("pipes of data, which PyTorch gave up, are not there", "use a Dataset"),
    "torch._C": Absent("PyTorch's internals in C++ have no counterpart", _PUBLIC),
    "torch._prims_common": Absent("PyTorch's internals have no counterpart", _PUBLIC),
}


def lookup(name: str) -> Absent | None:
    """The entry of a name such as `torch.jit.script`, or of the nearest name above it."""
    while name:
        if name in ABSENT:
            return ABSENT[name]
        name = name.rpartition(".")[0]
    return None


def explanation(name: str) -> list[str]:
    """Two lines for a user who asked for a name that is not there; none where nothing is known."""
    entry = lookup(name)
    if entry is None:
        return []
    return [f"{entry.why};", f"instead: {entry.instead}"]


# Where names are looked for that a module does not have, and what other libraries call some of them.
_HOMES = ("", "nn", "nn.functional", "optim", "utils.data", "linalg", "special", "fft", "distributions",
          "optim.lr_scheduler", "autograd", "nn.init", "nn.utils", "nn.utils.rnn")
_WORDS = {
    "dense": "Linear", "batchnormalization": "BatchNorm1d", "layernormalization": "LayerNorm", "concatenate": "cat",
    "array": "tensor", "maxpooling2d": "MaxPool2d", "averagepooling2d": "AvgPool2d", "expanddims": "unsqueeze",
    "reducemean": "mean", "reducesum": "sum", "matrixmultiply": "matmul", "meansquarederror": "MSELoss",
    "categoricalcrossentropy": "CrossEntropyLoss", "sparsecategoricalcrossentropy": "CrossEntropyLoss",
    "binarycrossentropy": "BCELoss", "mse": "MSELoss", "power": "pow", "placeholder": "tensor", "constant": "tensor",
    "variable": "Parameter", "conv2dtranspose": "ConvTranspose2d", "activation": "ReLU", "copy": "clone",
    "repeatelements": "repeat_interleave", "swish": "SiLU",
}


def elsewhere(module: str, attribute: str) -> str:
    """`torch.nn.functional.cross_entropy` for `torch.cross_entropy`: the same name elsewhere, however it is written."""
    here = module.partition(".")[2]
    wanted = {_plain(attribute), _plain(_WORDS.get(_plain(attribute), attribute))}
    for home in sorted(_HOMES, key=lambda home: home != here):
        held = importlib.import_module(f"claygrad.{home}".rstrip("."))
        for name in dir(held):
            if _plain(name) not in wanted or name.startswith("_") or (home, name) == (here, attribute):
                continue
            if callable(getattr(held, name, None)):
                return f"torch.{home}.{name}".replace("..", ".")
    return ""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def message(module: str, attribute: str, known: list[str]) -> str:
    """The text of the AttributeError: PyTorch's first line, then the reason or the nearest name."""
    first = f"module '{module}' has no attribute '{attribute}'"
    full = f"torch{module.removeprefix('claygrad').removeprefix('torch')}.{attribute}"
    near = difflib.get_close_matches(attribute, known, 3, 0.8)
    near.sort(key=lambda name: name[:1].isupper() != attribute[:1].isupper())       # DataLoader, not dataloader
    meant = elsewhere(module, attribute) if full not in ABSENT else ""
    if full not in ABSENT and near:
        told = [f"did you mean '{near[0]}'?"]
    elif meant:
        same = meant.rpartition(".")[2] == attribute
        told = [f"it is in another module: {meant}" if same else f"did you mean {meant}?"]
    else:
        told = explanation(full) if lookup(full) is not ABSENT["torch"] else []
        near = difflib.get_close_matches(attribute, known, 1, 0.7)
        if near and not told and full not in ABSENT:
            told = [f"did you mean {near[0]}?"]
    return "\n  ".join([first, *told])
