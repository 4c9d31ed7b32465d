"""`torch._inductor.lowering`: what packages tell the compiler when they are imported."""
from claygrad.compat.refusing import always, registering

register_lowering = registering
add_layout_constraint = add_needs_realized_inputs = always(None)
