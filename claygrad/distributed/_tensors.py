"""Tensors as memory that MPI reads and writes.

A collective that writes is an in-place write: saved values are kept and the version counter moves. A call that
returns when it is done writes straight into a contiguous tensor of the CPU; otherwise there is memory in between, and
the write happens at the end, so that nothing the program does with the tensor meanwhile can reach memory that MPI
writes.
"""

from __future__ import annotations

from typing import Any

import numpy

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, dtype
from claygrad.core.data.dtype import DTYPES, prefix
from claygrad.core.python_api import array_of, prepare_write, share
from claygrad.core.python_api import empty as new
from claygrad.ops._formats import strided

_CODES = {kind: number for number, kind in enumerate(DTYPES.values())}


def check_tensor(value: Any, name: str) -> None:
    """Refuse what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type {prefix()}.Tensor\n"
            f"             but got {type(value)} instead."
        )
    if value.layout is not strided:
        raise RuntimeError(f"{name} is sparse: only dense tensors are sent\n  to_dense() makes one")
    if value.device.type == "meta":
        raise RuntimeError(f"{name} is on device 'meta' and has no values to send")


def check_list(value: Any, name: str) -> None:
    """Refuse what is no list of tensors."""
    if not isinstance(value, list):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[{prefix()}.Tensor]\n"
            f"             but got {type(value)} instead."
        )
    if not all(isinstance(one, Tensor) for one in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[{prefix()}.Tensor]\n"
            f"             but got {type(value)} with elements of type {[type(one) for one in value]}."
        )
    for one in value:
        check_tensor(one, name)


def check_dtypes(*tensors: Tensor) -> None:
    """Refuse tensors of several dtypes; a complex one and one of its real dtype pass."""
    first = None
    for one in tensors:
        kind = one.dtype.to_real() if one.dtype.is_complex else one.dtype
        if first is None:
            first = kind
        elif kind != first:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {one.dtype}")


def code(kind: dtype) -> int:
    """A number for a dtype, the same on all ranks."""
    return _CODES[kind]


def source(tensor: Tensor, copied: bool = False) -> numpy.ndarray:
    """The elements as a flat array of the CPU: the tensor's own memory where it can be."""
    with no_grad():
        held = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if copied and held.data_ptr() == tensor.data_ptr():
            held = held.clone()
    return array_of(held).reshape(-1)


def as_bytes(array: numpy.ndarray) -> numpy.ndarray:
    """The same memory as bytes."""
    return array.view(numpy.uint8)


class Target:
    """A tensor that a collective writes, by the memory that MPI is given for it."""

    def __init__(self, tensor: Tensor, later: bool, keep: bool = False) -> None:
        """`later`: the call returns before it is done. `keep`: MPI reads the elements too."""
        if tensor.numel() > 1 and any(n > 1 and step == 0 for n, step in zip(tensor.shape, tensor.stride())):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )
        self.tensor = tensor
        self.direct = (
            not later
            and tensor.device.type == "cpu"
            and tensor.is_contiguous()
            and not tensor.is_conj()
            and not tensor.is_neg()
        )
        self._keep = keep

    def memory(self) -> numpy.ndarray:
        """The flat array to write. From here on the write counts."""
        if self.direct:
            prepare_write(self.tensor)
            self.array = array_of(self.tensor).reshape(-1)
        elif self._keep:
            self.array = source(self.tensor, copied=True)
        else:
            self.array = array_of(new(self.tensor.shape, self.tensor.dtype, "cpu")).reshape(-1)
        return self.array

    def finish(self) -> None:
        """Bring what was written into the tensor, where that is other memory."""
        if not self.direct:
            with no_grad():
                self.tensor.detach().copy_(share(self.array).reshape(self.tensor.shape))
