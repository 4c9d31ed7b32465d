"""`torch._inductor.decomposition`: what packages tell the compiler when they are imported."""
from claygrad.compat.refusing import registering

register_decomposition = registering
