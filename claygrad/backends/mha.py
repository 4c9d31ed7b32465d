"""`torch.backends.mha`: whether transformer layers may take a fast path in inference."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` said."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the fast path; the results are the same."""
    global _fastpath
    _fastpath = value
