"""`torch.torch_version`: the class of `torch.__version__`."""
from claygrad.version import TorchVersion

__all__ = ["TorchVersion"]
