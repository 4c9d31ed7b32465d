"""`torch._inductor.decomposition`: what packages tell the compiler when they are imported."""
from claygrad.compat.answers._decomp import register_decomposition as register_decomposition
