"""Neural networks: modules, their parameters, and the functions they are made of."""
from claygrad.core.cpython.entry_points import guard, guard_package
from claygrad._lazy import lazy
from claygrad.nn import attention, functional, grad, init, modules, parallel, parameter, utils
from claygrad.nn.modules import *  # noqa: F403
from claygrad.nn.modules.utils import factory_kwargs
from claygrad.nn.parallel import DataParallel
from claygrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
           "factory_kwargs", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]
__all__ += modules.__all__

__getattr__ = guard(lazy(__name__))

guard_package(__name__)          # Note [Entry points]
