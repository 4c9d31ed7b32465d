"""Functions of functions: derivatives (`grad`, `vjp`, `jvp`, Jacobians), and modules as functions of their
parameters."""
from claygrad._lazy import lazy
from claygrad.core.cpython.entry_points import guard_package
from claygrad.func._jacobians import hessian, jacfwd, jacrev
from claygrad.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from claygrad.func._transforms import functionalize, grad, grad_and_value, jvp, linearize, vjp
from claygrad.func._vmap import vmap

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
