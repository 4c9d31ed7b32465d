"""`torch._inductor`: nothing is compiled."""
from claygrad.compat.refusing import always

cudagraph_mark_step_begin = always(None)
list_mode_options = always({})
