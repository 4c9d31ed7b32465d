"""Say numbers by name, one line of JSON each: what a program is compared by."""
import json

import numpy as np

SHOWN = 8       # of a longer array: this many from the front, and its sums


def tell(name, value):
    """Print a number, text, tensor or array, or a list or dictionary of them, under a name."""
    if isinstance(value, dict):
        for key, part in value.items():
            tell(f"{name}.{key}", part)
        return
    print(json.dumps({name: _plain(value)}), flush=True)


def _plain(value):
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)) and not all(isinstance(part, (bool, int, float)) for part in value):
        return [_plain(part) for part in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float().numpy() if str(value.dtype).endswith(("bfloat16", "float16")) else value.numpy()
    array = np.asarray(value)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind not in "biuf":
        return array.tolist()
    array = array.astype(np.float64)
    if array.size <= SHOWN:
        return array.tolist()
    return {"shape": list(array.shape), "sum": array.sum(), "abs": np.abs(array).sum(), "first": array.ravel()[:SHOWN].tolist()}
