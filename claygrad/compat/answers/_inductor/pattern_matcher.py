"""`torch._inductor.pattern_matcher`: patterns that packages tell the compiler when they are imported."""
from claygrad.compat.refusing import always, registering

register_graph_pattern = register_lowering_pattern = registering
register_replacement = always(False)
