"""Neural networks: modules, their parameters, and the functions they are made of."""
from claygrad.nn import functional, init, modules, parameter, utils
from claygrad.nn.modules import *  # noqa: F403
from claygrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
           "parameter", "utils"]
__all__ += modules.__all__
