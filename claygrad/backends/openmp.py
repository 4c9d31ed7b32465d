"""`torch.backends.openmp`: claygrad has threads of its own."""


def is_available() -> bool:
    """No."""
    return False
