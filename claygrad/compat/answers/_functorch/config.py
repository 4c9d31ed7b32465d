"""`torch._functorch.config`: settings of a compiler that is not there; they can be set and read."""
from claygrad.compat.settings import patch_of

patch = patch_of("claygrad._functorch.config")
