"""`torch._functorch.vmap`: the module of `vmap` itself, parts of which packages replace by their own."""
from claygrad.func import _vmap as itself

__all__ = ["itself"]
