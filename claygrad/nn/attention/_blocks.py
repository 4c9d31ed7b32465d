"""Which blocks of an attention are computed: `BlockMask`, and masks made from functions of the place."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.autograd.grad_mode import no_grad
from claygrad.core import Tensor, int8, int32
from claygrad.core import bool as bool_
from claygrad.nn.functional import pad
from claygrad.ops.compare import allclose, where
from claygrad.ops.creation import as_tensor, tensor
from claygrad.ops.join import stack
from claygrad.ops.ranges import arange
from claygrad.ops.sort import argsort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claygrad.core import device

BLOCK = 128


def positional(function: Callable[..., Any]) -> int:
    """How many arguments a function must be given: 5 for a change of scores, 4 for a mask."""
    code = getattr(function, "__code__", None)
    if code is not None:
        count = code.co_argcount - len(getattr(function, "__defaults__", None) or ())
    else:
        count = sum(p.default is inspect.Parameter.empty for p in inspect.signature(function).parameters.values())
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count


# --- a function of one position, over all positions -------------------------------------------------------------------
def over_positions(
    function: Callable[..., Any], sizes: Sequence[int], scores: Tensor | None = None, on: device | str = "cpu"
) -> Tensor:
    """A function of (score,) batch, head, query and key, each a tensor without axes, at every place.

    It is called once with tensors that broadcast against each other. A function that means one place by what it does
    (`table[b][h]`, a branch, a sum) is seen by a result of another shape or value, and gets its positions one by one,
    from the first axis on.
    """
    for ones in (0, 2, 3, 4):
        try:
            result = _with_ones(function, sizes, scores, on, ones)
            if ones == 4 or _agrees(function, result, sizes, scores, on):
                return result
        except (IndexError, RuntimeError, TypeError, ValueError):
            if ones == 4:
                raise
    raise AssertionError


def _with_ones(
    function: Callable[..., Any], sizes: Sequence[int], scores: Tensor | None, on: device | str, ones: int
) -> Tensor:
    """The first `ones` axes by loops, the others by broadcasting."""
    rest = list(sizes[ones:])
    spread = [
        arange(n, device=on).view([-1 if i == axis else 1 for i in range(len(rest))]) for axis, n in enumerate(rest)
    ]
    parts = []
    for place in itertools.product(*map(range, sizes[:ones])):
        index = [tensor(i, device=on) for i in place] + spread
        part = function(*index) if scores is None else function(scores[place], *index)
        if not isinstance(part, Tensor):
            part = as_tensor(part, device=on)
        if part.dim() > len(rest):
            raise ValueError(f"a result of shape {tuple(part.shape)} at one place")
        parts.append(part.expand(rest))
    return stack(parts).view(list(sizes)) if ones else parts[0]


def _agrees(
    function: Callable[..., Any], result: Tensor, sizes: Sequence[int], scores: Tensor | None, on: device | str
) -> bool:
    """Whether some positions by themselves give what they gave together."""
    if not result.numel():
        return True
    with no_grad():
        for part in range(6):
            place = tuple(
                (n - 1) * part // 5 if axis % 2 else (n - 1) * (5 - part) // 5 for axis, n in enumerate(sizes)
            )
            index = [tensor(i, device=on) for i in place]
            alone = function(*index) if scores is None else function(scores[place], *index)
            alone = as_tensor(alone, device=on)
            if alone.numel() != 1 or not allclose(alone.reshape(()).double(), result[place].double(), equal_nan=True):
                return False
    return True


# --- blocks --------------------------------------------------------------------------------------------------------
def to_dense(count: Tensor, columns: Tensor) -> Tensor:
    """Which blocks are named: the first `count` of each row of `columns`."""
    wide = columns.shape[-1]
    named = arange(wide, device=columns.device) < count.unsqueeze(-1)
    dense = columns.new_zeros((*columns.shape[:-1], wide + 1), dtype=int32)  # the last column takes what is not named
    return dense.scatter(-1, where(named, columns, wide).long(), 1)[..., :wide].contiguous()


def to_ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row there are, and all columns, theirs first."""
    dense = dense.to(int32)
    return dense.sum(-1).to(int32), argsort(dense, dim=-1, descending=True, stable=True).to(int32)


def transposed(count: Tensor | None, columns: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """The same blocks by column."""
    if count is None or columns is None:
        return None, None
    return to_ordered(to_dense(count, columns).transpose(-2, -1))


def blocks_of(mask: Tensor, sizes: tuple[int, int], separate: bool) -> tuple[Tensor, Tensor | None]:
    """Blocks that hold some positions, and those that hold all; without `separate` the first are all that hold any."""
    batch, heads, rows, columns = mask.shape
    high, wide = -(-rows // sizes[0]), -(-columns // sizes[1])
    mask = pad(mask, (0, wide * sizes[1] - columns, 0, high * sizes[0] - rows))
    count = mask.view(batch, heads, high, sizes[0], wide, sizes[1]).sum((3, 5))
    if not separate:
        return (count > 0).to(int8), None
    full = count == sizes[0] * sizes[1]
    return ((count > 0) & ~full).to(int8), full.to(int8)


def sliced_mask_mod(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> NoReturn:
    """Stands for the function of a mask that was indexed: its positions have moved."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute "
        "is reset. You must set it from the original BlockMask's mask_mod.\n\nIncorrect usage:"
        "\n  base_mask = create_block_mask(my_mask_fn, ...)\n  sliced_mask = base_mask[:, :, block_idx]"
        "\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!\n\nCorrect usage:"
        "\n  base_mask = create_block_mask(my_mask_fn, ...)\n  sliced_mask = base_mask[:, :, block_idx]"
        "\n  sliced_mask.mask_mod = apply_offset(base_mask.mask_mod, offset)  # Use base_mask!"
    )


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every place counts."""
    return batch.new_ones((), dtype=bool_)


class BlockMask:
    """The blocks of an attention that are not empty, by rows and by columns, and the function that masks inside them.

    `kv_num_blocks` and `kv_indices` name the blocks of each row that hold some positions, `full_…` those that hold all;
    `q_…` are the same by columns. claygrad computes the whole product and asks `mask_mod` for every place, so that only
    that function decides; the blocks can be read, printed, indexed and handed on as in PyTorch.
    """

    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK),
        mask_mod: Callable[..., Any] = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for some, other, name in (
            (full_kv_num_blocks, full_kv_indices, "full_kv"),
            (q_num_blocks, q_indices, "q"),
            (full_q_num_blocks, full_q_indices, "full_q"),
        ):
            if (some is None) != (other is None):
                raise AssertionError(f"{name}_num_blocks and {name}_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from its blocks by rows."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * sizes[0], kv_indices.shape[-1] * sizes[1]
        by_column = transposed(kv_num_blocks, kv_indices) if compute_q_blocks else (None, None)
        full_by_column = transposed(full_kv_num_blocks, full_kv_indices) if compute_q_blocks else (None, None)
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *by_column,
            *full_by_column,
            BLOCK_SIZE=sizes,
            mask_mod=noop_mask if mask_mod is None else mask_mod,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, and the lengths of queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        index = index if isinstance(index, tuple) else (index,)
        padded = (*index, *[slice(None)] * 3)[:3]
        whole = tuple(
            (slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1)) if isinstance(i, int) else i
            for i, n in zip(padded, self.kv_num_blocks.shape[:3])
        )
        full_blocks = None if self.full_kv_num_blocks is None else self.full_kv_num_blocks[whole]
        full_indices = None if self.full_kv_indices is None else self.full_kv_indices[whole]
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[whole],
            self.kv_indices[whole],
            full_blocks,
            full_indices,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=sliced_mask_mod,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part, for other lengths."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def cut(count: Tensor | None, indices: Tensor | None) -> tuple[Any, Any]:
            if count is None or indices is None:
                return None, None
            indices, count = indices[:, :, :rows, :columns], count[:, :, :rows].clamp(max=columns)
            return (indices < count[..., None]).sum(-1).to(int32), indices

        return self.from_kv_blocks(
            *cut(self.kv_num_blocks, self.kv_indices),
            *cut(self.full_kv_num_blocks, self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All attributes; PyTorch's four of the order in which gradients are written are None."""
        tensors = tuple(getattr(self, name) for name in self._TENSORS)
        if flatten:
            return (*self.seq_lengths, *tensors, None, None, None, None, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, None, None, None, None, self.BLOCK_SIZE, self.mask_mod)

    def numel(self) -> int:
        """How many positions there are, masked or not."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many positions in a hundred lie in empty blocks."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """One for each block that is not empty."""
        dense = to_dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return dense
        return dense | to_dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""
        moved: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name).to(device) for name in self._TENSORS
        }
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks, for the first batches and heads."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        high, wide = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row, column = max(1, -(-rows // high)), max(1, -(-columns // wide))
        shown = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                shown += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            part = dense[place]
            lines = [
                "".join(2 * _shade(part[r : r + row, c : c + column]) for c in range(0, columns, column)) + "\n"
                for r in range(0, rows, row)
            ]
            shown.append(f"{place}\n" + "".join(lines))
        return "\n".join(shown)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = [
            f"    {name}={None if getattr(self, name) is None else getattr(self, name).shape},\n"
            for name in self._TENSORS
        ]
        return (
            f"BlockMask(\n{''.join(shapes)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )


def _shade(blocks: Tensor) -> str:
    share = blocks.float().mean().item()
    return "█" if share == 1 else " " if share == 0 else "░"


BlockMask.__module__ = noop_mask.__module__ = "claygrad.nn.attention.flex_attention"
