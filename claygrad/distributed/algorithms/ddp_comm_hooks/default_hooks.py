"""Sums of gradients as they are, or in half precision, which halves what is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claygrad._lazy import lazy
from claygrad.core import Tensor, dtype
from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.data.dtype import DTYPES
from claygrad.distributed._group import of
from claygrad.distributed.collectives import all_reduce

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _summed(group: Any, tensor: Tensor) -> Any:
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future()


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients as they are."""
    return _summed(process_group, bucket.buffer().div_(of(process_group).size())).then(lambda done: done.value()[0])


def _compress(kind: dtype, process_group: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()

    def decompress(done: Any) -> Tensor:
        return buffer.copy_(done.value()[0])

    return _summed(process_group, buffer.to(kind).div_(of(process_group).size())).then(decompress)


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients in float16."""
    return _compress(DTYPES["float16"], process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Average the gradients in bfloat16."""
    return _compress(DTYPES["bfloat16"], process_group, bucket)


def _wrapper(kind: dtype, hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    class Compressed:
        """A bucket whose buffer is in half precision."""

        def __init__(self, bucket: Any) -> None:
            self._bucket, self._buffer = bucket, bucket.buffer().to(kind)

        def buffer(self) -> Tensor:
            return self._buffer

        def __getattr__(self, name: str) -> Any:
            return getattr(self._bucket, name)

    def wrapped(state: Any, bucket: Any) -> Any:
        def decompress(done: Any) -> Tensor:
            value = done.value()
            return bucket.buffer().copy_(value if isinstance(value, Tensor) else value[0])

        return hook(state, Compressed(bucket)).then(decompress)

    return wrapped


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that is given gradients in float16."""
    return _wrapper(DTYPES["float16"], hook)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that is given gradients in bfloat16."""
    return _wrapper(DTYPES["bfloat16"], hook)


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
