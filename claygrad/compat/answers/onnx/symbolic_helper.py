"""`torch.onnx.symbolic_helper`: marks of functions that only an export would call."""
from claygrad.compat.refusing import unchanged


def parse_args(*arg_descriptors: str):
    """A decorator that leaves the function as it is."""
    return unchanged


def quantized_args(*arg_q_descriptors: bool, **options: object):
    """A decorator that leaves the function as it is."""
    return unchanged
