"""`torch.backends.cpu`."""
from claygrad.core.python_api import instruction_set


def get_cpu_capability() -> str:
    """The instruction set that the kernels run on: DEFAULT, AVX2 or AVX512."""
    name = instruction_set().split("_")[0]       # what a set has beyond another is not in PyTorch's word for it
    return "DEFAULT" if name == "base" else name.upper()
