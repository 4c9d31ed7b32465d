"""The state of random numbers: seeds, and states to keep and restore (`torch.random`)."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from claygrad.core.cpython.entry_points import guard_package
from claygrad.core.data.device import device, parse_device
from claygrad.native.random import default_generator, generator_of, generators_in_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claygrad.core import Tensor
    from claygrad.native.random import Generator

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Start the stream of random numbers that belongs to a seed; returns the default generator.

    Seeds go from -2**63 to 2**64 - 1; a negative one counts from 2**64 downwards.
    """
    for generator in generators_in_use():          # of accelerators
        generator.manual_seed(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start a stream that nobody can foresee; returns its seed."""
    out = default_generator.seed()
    for generator in generators_in_use():
        generator.manual_seed(out)
    return out


def initial_seed() -> int:
    """The seed of the running stream."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from a state that get_rng_state() gave, here or in PyTorch."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Iterable | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str | None = None) -> Iterator[None]:
    """Random numbers may be drawn and seeded at will in this context; after it the stream goes on as if nothing was.

    `devices` are those besides the CPU whose streams to keep, as numbers of type `device_type` or as devices; None: all
    that were drawn from.
    """
    if device_type is not None:
        device(device_type)                     # for its refusals
    if not enabled or device_type == "meta":
        yield
        return
    kind = "cuda" if device_type is None else device_type
    others = generators_in_use() if devices is None else [
        generator_of(parse_device(device(kind, one) if isinstance(one, int) else one)) for one in devices]
    state, states = get_rng_state(), [generator.get_state() for generator in others]
    try:
        yield
    finally:
        set_rng_state(state)
        for generator, kept in zip(others, states, strict=True):
            generator.set_state(kept)

guard_package(__name__)          # Note [Entry points]
