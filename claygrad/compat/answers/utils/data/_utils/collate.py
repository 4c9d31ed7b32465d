"""`torch.utils.data._utils.collate`."""
import re

import claygrad
from claygrad.utils.data.collate import *  # noqa: F403
from claygrad.utils.data.collate import (  # noqa: F401
    _arrays,
    _floats,
    _ints,
    _tensors,
    collate,
    default_collate,
    default_collate_fn_map,
    default_convert,
)

np_str_obj_array_pattern = re.compile(r"[SaUO]")
collate_tensor_fn, collate_numpy_array_fn, collate_float_fn, collate_int_fn = _tensors, _arrays, _floats, _ints


def collate_str_fn(batch, *, collate_fn_map=None):
    """Texts stay a list."""
    return batch


default_collate_err_msg_format = ("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                                  "found {}")


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Scalars of NumPy become a tensor."""
    return claygrad.as_tensor(batch)
