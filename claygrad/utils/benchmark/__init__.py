"""`torch.utils.benchmark`: how long a statement takes."""
from claygrad._late import late
from claygrad.utils.benchmark.compare import Compare
from claygrad.utils.benchmark.measure import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from claygrad.utils.benchmark.timer import Language, Timer, timer

__all__ = ["Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig",
           "unit_to_english"]

__getattr__ = late(__name__)
