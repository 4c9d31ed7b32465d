"""`torch._dynamo.utils`: nothing is compiled."""
from claygrad.compat.refusing import always

is_compile_supported = always(False)
