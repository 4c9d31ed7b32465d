"""`torch._subclasses.fake_tensor`: there are no such tensors, so nothing is one."""
import contextlib

from claygrad.compat.refusing import always

__all__ = ["is_fake", "unset_fake_temporarily"]

is_fake = always(False)
unset_fake_temporarily = contextlib.nullcontext
