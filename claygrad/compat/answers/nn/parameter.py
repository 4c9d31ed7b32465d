"""Names of `torch.nn.parameter` that other packages ask for."""
from claygrad.nn.parameter import Parameter

_ParameterMeta = type(Parameter)
