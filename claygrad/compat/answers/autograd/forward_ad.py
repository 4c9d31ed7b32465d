"""`torch.autograd.forward_ad`: forward mode, which is not there yet."""
from claygrad.compat.refusing import always, refusing_class, refusing_function

NAMES = ("enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual")
globals().update({name: refusing_function(f"torch.autograd.forward_ad.{name}") for name in NAMES})
dual_level = refusing_class("torch.autograd.forward_ad.dual_level")
_is_fwd_grad_enabled = always(True)
