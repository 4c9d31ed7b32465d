"""`torch.utils.benchmark.Timer`: like Python's `timeit.Timer`, with a fixed number of threads and a warm-up."""
from __future__ import annotations

import enum
import importlib
import math
import textwrap
import timeit
from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.utils.benchmark.measure import Measurement, TaskSpec, set_torch_threads

if TYPE_CHECKING:
    from collections.abc import Callable


def timer() -> float:
    """The clock: seconds."""
    return timeit.default_timer()


class Language(enum.Enum):
    """Languages of statements: claygrad measures Python."""

    PYTHON = 0
    CPP = 1


class CopyIfCallgrind:
    """A value among the globals that a run under Callgrind would need a copy of."""

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self._value, self._setup = value, setup

    @property
    def value(self) -> Any:
        """The value itself."""
        return self._value

    @property
    def setup(self) -> str | None:
        """What the copy would need to be read."""
        return self._setup

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """The values themselves."""
        return {name: one.value if isinstance(one, CopyIfCallgrind) else one for name, one in globals.items()}


def _unindented(text: str) -> str:
    return textwrap.dedent(text).removeprefix("\n").rstrip()


class Timer:
    """Measures a statement of Python, on `num_threads` threads, after a warm-up."""

    _timer_cls = timeit.Timer

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("Timer(language='c++'): claygrad measures statements of Python;\n"
                                      "  instead: write the statement in Python")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be "
                             "moved to `setup`.")
        self._language = Language.PYTHON
        self._globals = dict(globals or {})
        self._globals.setdefault("torch", importlib.import_module("claygrad"))
        stmt, setup = _unindented(stmt), _unindented(setup)
        self._timer = self._timer_cls(stmt, setup, timer, CopyIfCallgrind.unwrap_all(self._globals))
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of `number` runs, after a warm-up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Refused, as in PyTorch: `blocked_autorange` does what it would."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Refused, as in PyTorch: `blocked_autorange` does what it would."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _estimate_block_size(self, min_run_time: float) -> int:
        """As many runs as make the clock's own time small; a warm-up too."""
        overhead = sorted(self._timeit(0) for _ in range(5))[2]
        number = 1
        while True:
            taken = self._timeit(number)
            enough = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
            if enough or taken > min_run_time or number * 10 > 2**31 - 1:
                return number
            number *= 10

    def _measured(self, block_time: float, min_run_time: float, callback: Callable[[int, float], Any] | None,
                  done: Callable[[Measurement], bool], max_run_time: float = math.inf) -> Measurement:
        """Blocks of runs until there are enough of them, in seconds and by what `done` says."""
        with set_torch_threads(self._task_spec.num_threads):
            made = Measurement(self._estimate_block_size(block_time), [], self._task_spec)
            while True:
                made.raw_times.append(self._timeit(made.number_per_run))
                if callback is not None:
                    callback(made.number_per_run, made.raw_times[-1])
                spent = sum(made.raw_times)
                if spent > max_run_time or (spent >= min_run_time and done(made)):
                    return made

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Times of blocks of runs, for at least `min_run_time` seconds."""
        return self._measured(min_run_time, min_run_time, callback, lambda made: True)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Times of blocks of runs, until they are near each other or `max_run_time` seconds are over."""
        return self._measured(0.05, min_run_time, callback, max_run_time=max_run_time,
                              done=lambda made: len(made.raw_times) > 3 and made.meets_confidence(threshold))

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: instructions are counted outside of the process."""
        raise NotImplementedError("Timer.collect_callgrind: claygrad does not run valgrind;\n"
                                  "  instead: run the program under `valgrind --tool=callgrind`")
