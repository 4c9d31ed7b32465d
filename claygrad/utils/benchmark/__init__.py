"""`torch.utils.benchmark`: how long a statement takes."""
from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.utils.benchmark.compare import Colorize, Compare, Table
from claygrad.utils.benchmark.fuzzer import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer, ParameterAlias
from claygrad.utils.benchmark.measure import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from claygrad.utils.benchmark.timer import CopyIfCallgrind, Language, Timer, timer

__all__ = ["Colorize", "Compare", "CopyIfCallgrind", "FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor",
           "Fuzzer", "Language", "Measurement", "ParameterAlias", "Table", "TaskSpec", "Timer", "ordered_unique",
           "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english"]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
