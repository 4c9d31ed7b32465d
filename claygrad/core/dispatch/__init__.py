"""What happens when an operation is called: arguments, promotion, the native form or the reference."""


def __getattr__(name):
    if name != "reference_only":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from claygrad.core.dispatch.registry import reference_only
    return reference_only
