"""Names of `torch.nn.modules.container` that live elsewhere here."""
from claygrad.nn import ParameterDict, ParameterList  # noqa: F401
