"""`torch.distributed.rpc`, which is not available."""
from claygrad.compat.refusing import always

is_available = always(False)
