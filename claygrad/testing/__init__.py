"""For tests of programs that use tensors: `assert_close` and `make_tensor`."""
from claygrad.core.cpython.entry_points import guard
from claygrad.testing._compare import assert_allclose, assert_close
from claygrad.testing._make import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

guard(make_tensor)          # Note [Entry points]; what assert_close says is complete
