"""Names of `torch.cpu` that other packages ask for."""
from claygrad.compat.refusing import always

_is_vnni_supported = _is_amx_tile_supported = always(False)        # claygrad's products of integers use neither
