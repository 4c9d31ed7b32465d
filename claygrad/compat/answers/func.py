"""Names of `torch.func`: function transforms, which are not there yet."""
from claygrad.compat.refusing import refusing_function

NAMES = ("debug_unwrap", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
         "stack_module_state", "vjp", "vmap")
globals().update({name: refusing_function(f"torch.func.{name}") for name in NAMES})
