"""`torch._decomp`: what operations are made of, for a compiler. None is there to be told."""
from claygrad.compat.refusing import always, registering

register_decomposition = registering
get_decompositions = core_aten_decompositions = always({})
