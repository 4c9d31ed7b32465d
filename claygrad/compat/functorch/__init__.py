"""`functorch`, the package that comes with torch: function transforms by former names."""
from claygrad.compat.refusing import refusing_class, refusing_function
from claygrad.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

NAMES = ("combine_state_for_ensemble", "functionalize", "make_functional", "make_functional_with_buffers", "make_fx")
globals().update({name: refusing_function(f"torch.func.{name}") for name in NAMES})
FunctionalModule = refusing_class("torch.func.FunctionalModule")
FunctionalModuleWithBuffers = refusing_class("torch.func.FunctionalModuleWithBuffers")
__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
           "jvp", "vjp", "vmap"]
