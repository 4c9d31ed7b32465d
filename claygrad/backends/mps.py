"""`torch.backends.mps`: GPUs of Apple, which claygrad does not use."""
from claygrad._lazy import lazy


def is_built() -> bool:
    """No."""
    return False


def is_available() -> bool:
    """No."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Asked only where there are such GPUs."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Asked only where there are such GPUs."""
    return is_macos_or_newer(13, minor)


__getattr__ = lazy(__name__)
