"""For tests of programs that use tensors: `assert_close` and `make_tensor`."""
from claygrad.testing._compare import assert_allclose, assert_close
from claygrad.testing._make import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
