"""`memory`: the bytes that are alive, by line, by module and by kind, and the peak."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from claygrad.core.graph import memory_ledger as _ledger
from claygrad.debug._names import module_paths
from claygrad.debug._places import Line, line_at, size_text, table
from claygrad.debug._walk import KINDS, Population, Survey
from claygrad.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from claygrad.core import RemovableHandle


@dataclass(frozen=True)
class Use:
    """The live bytes of one line, in so many blocks. `where` is None of what no line is known for."""

    bytes: int
    blocks: int
    where: Line | None
    kinds: dict[str, int] = field(default_factory=dict)
    otherwise: str = "(no line known: use `with debug.memory():`)"

    def __str__(self) -> str:
        return str(self.where) if self.where is not None else self.otherwise


@dataclass(frozen=True)
class Peak:
    """The most bytes that were live at once, and the line that took the last of them.

    Of a ledger also the module that ran, and what each line and module held at that moment.
    """

    bytes: int
    where: Line | None
    module: str | None = None
    by_line: list[Use] = field(default_factory=list)
    by_module: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        inside = f" (in {self.module})" if self.module else ""
        return f"{size_text(self.bytes)}{inside}" + (f" at {self.where}" if self.where is not None else "")


class memory:
    """The memory of tensors that is alive now; as a context, a ledger of every block that is taken inside it.

    >>> x = claygrad.ones(1000, requires_grad=True)
    >>> report = claygrad.debug.memory()
    >>> report.by_kind["parameters"] >= 4000
    True
    >>> sum(report.by_kind.values()) == claygrad.memory.reserved()
    True

    by_kind: bytes of parameters (and other leaves that require a gradient), buffers, gradients, optimizer state; of
    tensors that the program holds; of values that only a graph keeps (saved for backward); of copies made because a
    value that a graph needs was overwritten; of NumPy arrays that outlived their tensor; of others, such as memory
    that a running operation works in; and what the pool keeps for reuse. They add up to `claygrad.memory.reserved()`.

    by_line: `Use` objects, the largest first, with `bytes`, `blocks`, `where` and `kinds`. A line is known where a
    graph was recorded or a tensor was created. Inside `with claygrad.debug.memory() as ledger:` it is known for every
    block, also for results of operations that are not recorded, and `tensor.origin` tells it. by_module: bytes by the
    path of the module. peak: the most bytes at once and the line that reached it; of a ledger since it was opened.

    A ledger can be read inside the block and after it, when it tells what was live at the end.
    """

    _current: ClassVar[memory | None] = None  # the ledger that is open

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []
        self._numbers: dict[int, int] = {}  # id of a module -> its number in the ledger
        self._modules: dict[int, weakref.ref[Any]] = {}
        self._before: list[int] = []
        self._frozen = True
        self._tracked = False
        self._read()

    # --- as a ledger ------------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        if memory._current is not None:
            raise RuntimeError("a ledger of memory is open already: read that one")
        _ledger.open_ledger()
        memory._current = self
        self._tracked, self._frozen = True, False
        self._numbers.clear()
        self._modules.clear()
        self._handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._read()
        self._frozen = True
        memory._current = None
        _ledger.close_ledger()

    def _enter_module(self, module: Any, args: Any) -> None:
        number = self._numbers.get(id(module))
        if number is None:
            number = self._numbers[id(module)] = _ledger.new_module()
            self._modules[number] = weakref.ref(module)
        self._before.append(_ledger.enter_module(number))

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        _ledger.enter_module(self._before.pop() if self._before else 0)

    @staticmethod
    def reset_peak() -> None:
        """Forget the peak: from now on it is what is in use now, or more."""
        _ledger.reset_peak()
        if _ledger.ledger_open():
            _ledger.reset_ledger_peak()

    # --- as an account ----------------------------------------------------------------------------------------------
    def _read(self) -> None:
        modules = {number: module for number, ref in self._modules.items() if (module := ref()) is not None}
        survey = Survey(modules)
        self.allocated, self.reserved = survey.allocated, survey.reserved
        self._by_kind = dict.fromkeys(KINDS, 0)
        self._by_module: dict[str, int] = {}
        self.borrowed = 0
        lines: dict[Line | None, dict[str, int]] = {}
        counts: dict[Line | None, int] = {}
        decoded: dict[Any, Line | None] = {}
        for block in survey.blocks.values():
            if block.place not in decoded:
                decoded[block.place] = line_at(block.place)
            line = decoded[block.place]
            self.borrowed += block.borrowed
            if not block.bytes:
                continue
            self._by_kind[block.kind] += block.bytes
            of_line = lines.setdefault(line, {})
            of_line[block.kind] = of_line.get(block.kind, 0) + block.bytes
            counts[line] = counts.get(line, 0) + 1
            if block.module is not None:
                self._by_module[block.module] = self._by_module.get(block.module, 0) + block.bytes
        self._by_kind["other"] = survey.other
        self._by_kind["pool"] = survey.reserved - survey.allocated
        if survey.other:
            lines.setdefault(None, {})["other"] = survey.other
        self._by_line = sorted(
            (Use(sum(kinds.values()), counts.get(line, 0), line, kinds) for line, kinds in lines.items()),
            key=lambda use: -use.bytes,
        )
        self._peak = self._ledger_peak(modules) if self._tracked else Peak(survey.peak, line_at(_ledger.peak_place()))

    def _ledger_peak(self, modules: dict[int, Any]) -> Peak:
        lines, of_modules = _ledger.read_ledger()
        most, line, module = _ledger.ledger_peak()
        paths = module_paths(Population().modules) if modules else {}
        path = {number: paths.get(id(found), type(found).__name__) for number, found in modules.items()}
        held: dict[Line | None, int] = {}
        for place, _, _, at_peak in lines:
            where = line_at(place)
            held[where] = held.get(where, 0) + at_peak
        by_line = sorted(
            (Use(n, 0, where, {}, "(taken before the ledger was opened)") for where, n in held.items() if n),
            key=lambda use: -use.bytes,
        )
        by_module = {path[i]: tally[3] for i, tally in enumerate(of_modules) if tally[3] and i in path}
        return Peak(most, line_at(lines[line][0]), path.get(module), by_line, _falling(by_module))

    def _now(self) -> None:
        if not self._frozen:
            self._read()

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes by what they are for; they add up to what the pool holds."""
        self._now()
        return dict(self._by_kind)

    @property
    def by_line(self) -> list[Use]:
        """Bytes by line, the largest first."""
        self._now()
        return list(self._by_line)

    @property
    def by_module(self) -> dict[str, int]:
        """Bytes by the path of the module, the largest first."""
        self._now()
        return _falling(self._by_module)

    @property
    def peak(self) -> Peak:
        """The most bytes at once."""
        self._now()
        return self._peak

    def __str__(self) -> str:
        self._now()
        kinds = [(size_text(n), kind) for kind, n in _falling(self._by_kind).items() if n]
        out = table(f"{size_text(self.allocated)} live, {size_text(self.reserved)} held by the pool", kinds)
        if self.borrowed:
            out.append(f"  and {size_text(self.borrowed)} of others: NumPy's arrays, files")
        out += table("by line", [(size_text(use.bytes), str(use)) for use in self._by_line])
        if self._by_module:
            out += table("by module", [(size_text(n), path) for path, n in _falling(self._by_module).items()])
        out.append(f"peak {self._peak}")
        if self._peak.by_line:
            out += table("at the peak", [(size_text(use.bytes), str(use)) for use in self._peak.by_line])
        if self._peak.by_module:
            out += table("by module at the peak", [(size_text(n), path) for path, n in self._peak.by_module.items()])
        return "\n".join(out)

    __repr__ = __str__


def _falling(amounts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(amounts.items(), key=lambda item: -item[1]))
