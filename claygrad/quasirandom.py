"""Points that fill a cube evenly: Sobol sequences, the same as PyTorch's.

`sobol_numbers.xz` holds the table of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections" (2008), for 21,201 dimensions: the steps between the primitive polynomials, then the first direction
numbers of every dimension (as many as its polynomial has degrees), all odd and halved.
"""
from __future__ import annotations

import functools
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from claygrad.core import Tensor, default_dtype, int64
from claygrad.core import dtype as dtype_class
from claygrad.native.random import Generator
from claygrad.ops.creation import from_numpy
from claygrad.ops.fill import zeros
from claygrad.ops.join import cat
from claygrad.ops.random import randint

__all__ = ["SobolEngine"]

_BITS, _DIMENSIONS = 30, 21201


@functools.cache
def _table() -> tuple[Any, Any, Any]:
    """The polynomials, the places at which their direction numbers begin, and these numbers."""
    packed = (Path(__file__).parent / "sobol_numbers.xz").read_bytes()
    numbers = np.frombuffer(lzma.decompress(packed), "<u4").astype(np.int64)
    polynomials = np.cumsum(numbers[:_DIMENSIONS - 1])
    degrees = np.array([int(p).bit_length() - 1 for p in polynomials])
    begins = np.concatenate([[0], np.cumsum(degrees)])
    return polynomials, begins, numbers[_DIMENSIONS - 1:] * 2 + 1


def _directions(dimension: int) -> Any:
    """The direction numbers of every dimension, one per bit, as fractions of 2**30."""
    polynomials, begins, first = _table()
    out = np.ones((dimension, _BITS), np.int64)
    degrees = np.diff(begins)[:dimension - 1]
    for degree in np.unique(degrees):
        those = np.flatnonzero(degrees == degree)
        rows = np.empty((len(those), _BITS), np.int64)
        rows[:, :degree] = first[begins[those][:, None] + np.arange(degree)]
        for j in range(degree, _BITS):
            rows[:, j] = rows[:, j - degree]
            for k in range(degree):
                rows[:, j] ^= (polynomials[those] >> (degree - 1 - k) & 1) * rows[:, j - k - 1] << (k + 1)
        out[those + 1] = rows
    return out << np.arange(_BITS - 1, -1, -1)


def _gray(n: int) -> int:
    return n ^ n >> 1


class SobolEngine:
    """Draws points of a Sobol sequence, which fill the cube [0, 1)^dimension evenly; `scramble` mixes them at random.

    >>> claygrad.quasirandom.SobolEngine(dimension=2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = _DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = from_numpy(_directions(dimension))
        self.shift = zeros(dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype_class | None = None) -> Tensor:
        """The next n points, a row each."""
        kind = default_dtype() if dtype is None else dtype
        if self.num_generated:
            result = self._points(n, self.num_generated - 1, kind)
        else:
            result = cat([self._first_point.to(kind), self._points(n - 1, 0, kind)])
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype_class | None = None) -> Tensor:
        """The next 2**m points; all that were drawn must be a power of 2, or their balance is lost."""
        if m > 62:
            raise ValueError(f"At most 2**62 points can be drawn, got m={m}")
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: "
                             f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over n points."""
        begin = max(self.num_generated - 1, 0)
        end = self.num_generated + n - 1
        changed = _gray(begin) ^ _gray(end)
        state, quasi = self.sobolstate.numpy(), self.quasi.numpy()
        for bit in range(changed.bit_length()):
            if changed >> bit & 1:
                quasi ^= state[:, bit]
        self.num_generated += n
        return self

    def _points(self, n: int, begin: int, kind: dtype_class) -> Tensor:
        """n points after the one whose number is `begin`: each differs from the last in one direction."""
        numbers = np.arange(begin + 1, begin + n + 1)
        bits = np.log2(numbers & -numbers).astype(np.int64)          # the lowest one: where the Gray code changes
        steps = np.concatenate([self.quasi.numpy()[None], self.sobolstate.numpy().T[bits]])
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi = from_numpy(points[-1].copy())
        out = from_numpy(points[1:])
        return out.to(kind) * 2.0**-self.MAXBIT

    def _scramble(self) -> None:
        """A random shift and a random linear map of the bits of every dimension."""
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        bits = self.MAXBIT
        ones = randint(2, (self.dimension, bits), generator=generator)
        self.shift = (ones << from_numpy(np.arange(bits))).sum(1)
        maps = randint(2, (self.dimension, bits, bits), generator=generator).tril().numpy()
        maps |= np.eye(bits, dtype=np.int64)
        state = self.sobolstate.numpy()
        places = np.arange(bits - 1, -1, -1)                         # the highest bit first
        digits = state[:, :, None] >> places & 1
        mapped = np.einsum("dpk,djk->djp", maps, digits) & 1
        state[...] = (mapped << places).sum(-1)

    def __repr__(self) -> str:
        words = [f"dimension={self.dimension}"]
        if self.scramble:
            words.append("scramble=True")
        if self.seed is not None:
            words.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(words)})"
