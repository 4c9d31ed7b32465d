"""`torch.utils.benchmark.Timer`: like Python's `timeit.Timer`, with a fixed number of threads and a warm-up."""
from __future__ import annotations

import enum
import importlib
import textwrap
import timeit
from typing import TYPE_CHECKING, Any, NoReturn

from claygrad.core import get_num_threads, set_num_threads
from claygrad.utils.benchmark.measure import Measurement, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

timer = timeit.default_timer


class Language(enum.Enum):
    """Languages of statements: claygrad measures Python."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement of Python."""

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[],
                                                                                                        float] = timer,
                 globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer(language='c++'): claygrad measures statements of Python;\n"
                                      "  instead: write the statement in Python")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be "
                             "moved to "
                             "`setup`.")
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._globals = dict(globals or {})
        self._globals.setdefault("torch", importlib.import_module("claygrad"))
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _with_threads(self, run: Callable[[], Measurement]) -> Measurement:
        former = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return run()
        finally:
            set_num_threads(former)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of `number` runs, after a warm-up."""
        def run() -> Measurement:
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)
        return self._with_threads(run)

    def _block_size(self, min_run_time: float) -> int:
        """As many runs as make the clock's own time small."""
        overhead = sorted(self._timeit(0) for _ in range(5))[2]
        number = 1
        while True:
            taken = self._timeit(number)
            if (overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time or number >= 10**9:
                return number
            number *= 10

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Times of blocks of runs, for at least `min_run_time` seconds."""
        def run() -> Measurement:
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._timeit(number))
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._task_spec)
        return self._with_threads(run)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Any = None) -> Measurement:
        """Times of blocks of runs, until they are near each other or `max_run_time` seconds are over."""
        def run() -> Measurement:
            number = self._block_size(0.05)
            times: list[float] = []
            while True:
                times.append(self._timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                made = Measurement(number, times, self._task_spec)
                near = len(times) > 3 and made.iqr / made.median < threshold
                if sum(times) > min_run_time and (near or sum(times) > max_run_time):
                    return made
        return self._with_threads(run)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: instructions are counted outside of the process."""
        raise NotImplementedError("Timer.collect_callgrind: claygrad does not run valgrind;\n"
                                  "  instead: run the program under `valgrind --tool=callgrind`")
