"""Names of `torch.func` that are not there: what serves compilers."""
from claygrad.compat.refusing import refusing_function

NAMES = ("debug_unwrap", "functionalize")
globals().update({name: refusing_function(f"torch.func.{name}") for name in NAMES})
