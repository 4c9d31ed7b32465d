"""What PyTorch has and claygrad has not: one table, with the reason and the way out.

Used by `__getattr__` of the package, by imports while claygrad stands in for torch, by `claygrad check` and by the
documentation. A name stands for all names below it.
"""
from __future__ import annotations

import difflib
from typing import NamedTuple


class Absent(NamedTuple):
    """Why a name is not there, and what to do instead."""

    why: str
    instead: str


_NO_GRAPHS = "claygrad runs programs as they are written and keeps no compiled graphs"
_NO_DEVICE = "claygrad runs on the CPU"

ABSENT: dict[str, Absent] = {
    "torch.compile": Absent(_NO_GRAPHS, "call the function itself: small operations cost a fraction of PyTorch's"),
    "torch.jit": Absent(_NO_GRAPHS, "use the module itself; save its state_dict()"),
    "torch.fx": Absent(_NO_GRAPHS, "use the module itself"),
    "torch.export": Absent(_NO_GRAPHS, "save the state_dict() and the code of the model"),
    "torch.onnx": Absent(_NO_GRAPHS, "save the state_dict(), load it in PyTorch and export from there"),
    "torch._dynamo": Absent(_NO_GRAPHS, "leave it out: nothing is compiled"),
    "torch._inductor": Absent(_NO_GRAPHS, "leave it out: nothing is compiled"),
    "torch.compiler": Absent(_NO_GRAPHS, "leave it out: nothing is compiled"),
    "torch.library": Absent("operations are declared in Python, without a dispatcher", "use autograd.Function"),
    "torch.ops": Absent("operations are declared in Python, without a dispatcher", "call the function by its name"),
    "torch.hub": Absent("claygrad downloads nothing", "download the file, then torch.load it"),
    "torch.ao": Absent("there are no quantized tensors", "use float16 or bfloat16"),
    "torch.quantization": Absent("there are no quantized tensors", "use float16 or bfloat16"),
    "torch.distributed": Absent("claygrad runs in one process", "share the work with joblib or Dask"),
    "torch.nn.parallel": Absent("claygrad runs in one process", "use the module itself"),
    "torch.multiprocessing": Absent("tensors are not shared between processes", "multiprocessing pickles tensors"),
    "torch.sparse": Absent("there are no sparse tensors", "use dense tensors, or scipy.sparse outside of gradients"),
    "torch.sparse_coo_tensor": Absent("there are no sparse tensors", "use dense tensors, index_add or scatter_add"),
    "torch.nested": Absent("there are no nested tensors", "pad, and mask what was padded"),
    "torch.profiler": Absent("there is no profiler yet", "use cProfile or py-spy"),
    "torch.autograd.forward_ad": Absent("there is no forward mode yet", "use autograd.grad twice"),
    "torch.vmap": Absent("there is no vmap yet", "write the batch dimension out"),
    "torch.func": Absent("there are no function transforms yet, but functional_call", "use autograd.grad"),
    "torch.xpu": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch.mps": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch.mtia": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch.accelerator": Absent(_NO_DEVICE, "use device 'cpu'"),
    "torch._C": Absent("PyTorch's internals in C++ have no counterpart", "use the public names"),
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


def message(module: str, attribute: str, known: list[str]) -> str:
    """The text of the AttributeError: PyTorch's first line, then the reason or the nearest name."""
    first = f"module '{module}' has no attribute '{attribute}'"
    told = explanation(f"torch{module.removeprefix('claygrad').removeprefix('torch')}.{attribute}")
    if not told:
        near = difflib.get_close_matches(attribute, known, 1, 0.8)
        told = [f"did you mean '{near[0]}'?"] if near else []
    return "\n  ".join([first, *told])
