"""`functorch`, the package that comes with torch: function transforms by former names."""
from claygrad.compat.refusing import refusing_function
from claygrad.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from claygrad.func._functional_modules import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from claygrad.version import __version__

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
           "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
           "make_fx", "vjp", "vmap"]

make_fx = refusing_function("torch.fx.experimental.proxy_tensor.make_fx")
