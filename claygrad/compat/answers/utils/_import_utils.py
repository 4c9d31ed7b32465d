"""`torch.utils._import_utils`."""
import functools
import importlib.util


def _check_module_exists(name: str) -> bool:
    """Whether a module could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.lru_cache
def dill_available() -> bool:
    """Whether dill could be imported."""
    return _check_module_exists("dill")


@functools.lru_cache
def import_dill() -> object:
    """dill, or None."""
    return importlib.import_module("dill") if dill_available() else None
