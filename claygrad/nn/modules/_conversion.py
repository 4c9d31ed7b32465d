"""Moving all tensors of a module at once: to another dtype, another device, another memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.core import device as Device
from claygrad.core import dtype as DType
from claygrad.core.user_warnings import warn
from claygrad.nn.parameter import Parameter
from claygrad.ops._swapping import swap_tensors
from claygrad.ops.cast import parse_to
from claygrad.ops.fill import empty_like

Place = str | int | Device | None


class HOW:
    """How conversions replace parameters; `claygrad.__future__` sets it."""

    overwrite = False           # new parameters in place of the old ones
    swap = False                # the same parameters, by an exchange of what they hold


def _same_kind(one: Tensor, other: Tensor) -> bool:
    """Whether a tensor can take over the memory of another: `one.data = other`."""
    return one.is_meta == other.is_meta and one.layout == other.layout


class Convertible:
    """The part of `Module` that changes what its tensors are made of."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Tensor | None]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer by what `fn` makes of it. Parameters stay the same objects where
        they can, so that optimizers and other modules go on seeing them."""
        if recurse:
            for module in self.children():      # type: ignore[attr-defined]
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                moved = fn(parameter)
            grad, kept = parameter.grad, parameter
            if HOW.swap:
                parameter.grad = None
                self._swap(parameter, Parameter(moved, parameter.requires_grad), name)
            elif not HOW.overwrite and _same_kind(parameter, moved):
                parameter.data = moved
            else:
                kept = self._parameters[name] = Parameter(moved, parameter.requires_grad)
            if grad is not None:
                with no_grad():
                    moved = fn(grad)
                if HOW.swap:
                    self._swap(grad, moved.requires_grad_(grad.requires_grad), f"{name}.grad")
                    kept.grad = grad
                elif not HOW.overwrite and kept is parameter and _same_kind(grad, moved):
                    grad.data = moved
                else:
                    kept.grad = moved.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, old: Tensor, new: Tensor, name: str) -> None:
        try:
            swap_tensors(old, new)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every submodule and on this module, children before parents, for example to initialize them."""
        for module in self.children():          # type: ignore[attr-defined]
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device: Place = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Place = None) -> Self:
        """Move everything to a GPU of Intel's."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device: Place = None) -> Self:
        """Move everything to an IPU."""
        return self._apply(lambda t: t.ipu(device))      # type: ignore[arg-type, return-value]

    def mtia(self, device: Place = None) -> Self:
        """Move everything to an MTIA accelerator."""
        return self._apply(lambda t: t.mtia(device))      # type: ignore[arg-type, return-value]

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: DType | str) -> Self:
        """Cast all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))      # type: ignore[arg-type, return-value]

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device: Place, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without copying their values: uninitialized memory, for a module on
        `meta`."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast in place: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`, `to(memory_format=...)`.

        A dtype must be floating or complex, and concerns only tensors that are.
        """
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        place, kind, _, layout = parse_to(args, kwargs)
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={kind}")
        if kind is not None and kind.is_complex:
            warn("Complex modules are a new feature under active development whose design may change, and "
                 "some modules might not work as expected when using complex tensors as parameters or "
                 "buffers. Please file an issue at https://github.com/pytorch/pytorch/issues/new?template="
                 "bug-report.yml if a complex module does not work as expected.")

        def convert(t: Tensor) -> Tensor:
            wanted = kind if t.is_floating_point() or t.is_complex() else None
            options = {"memory_format": layout} if layout is not None and t.dim() in (4, 5) else {}
            try:
                return t.to(place, wanted, **options)
            except NotImplementedError as failure:
                if str(failure).startswith("Cannot copy out of meta tensor; no data!"):
                    raise NotImplementedError(
                        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                        "torch.nn.Module.to() when moving module from meta to a different device.") from None
                raise

        return self._apply(convert)
