"""What PyTorch says to an `out` of another dtype than the result; filled in with the wanted and the given dtype."""
from __future__ import annotations

EXACT = "Expected out tensor to have dtype {0.c_name}, but got {1.c_name} instead"
MATCHING = ("Expected the dtype for input and out to match, but got {0.legacy} for input's dtype and {1.legacy} for "
            "out's dtype.")
SCALAR = "expected scalar_type {0.legacy} but found {1.legacy}"
TENSORDOT = ("tensordot: Expected the output tensor to have dtype {0.legacy}, but got an output tensor with dtype "
             "{1.legacy}")
SELF = "self and mat2 must have the same dtype, but got {1.legacy} and {0.legacy}"
DOT = "result dtype {1.legacy} does not match input dtype {0.legacy}"
MULTI_DOT = "multi_dot(): expected out tensor to have dtype {0.c_name} but got {1.c_name}"
FOUND = "Found dtype {1.legacy} but expected {0.legacy}"
OBJECT = "Expected object of scalar type {0.legacy} but got scalar type {1.legacy} for argument 'out'"
MEDIAN = (
    ("pair:Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
     "torch.{1.legacy}Tensor does not equal torch.{0.legacy}Tensor (while checking arguments for median)"),
    ("pair:Expected tensor for argument #1 'indices' to have scalar type {0.legacy}; but got "
     "torch.{1.legacy}Tensor instead (while checking arguments for median)"),
)
SEARCH = ("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
          "whether out_int32 flag is True, but we got output tensor's dtype {1.legacy} and out_int32 flag is False")
