"""Neural networks: for now functions and parameters; modules come next."""
from claygrad.nn import functional, parameter
from claygrad.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "parameter"]
