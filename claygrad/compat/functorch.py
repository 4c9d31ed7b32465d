"""`functorch`, the package that comes with torch: function transforms by former names. They are not there yet."""
from claygrad.compat.refusing import refusing_class, refusing_function

NAMES = ("combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
         "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap")
globals().update({name: refusing_function(f"torch.func.{name}") for name in NAMES})
FunctionalModule = refusing_class("torch.func.FunctionalModule")
FunctionalModuleWithBuffers = refusing_class("torch.func.FunctionalModuleWithBuffers")
