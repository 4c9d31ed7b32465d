"""Names of `torch.backends` that other packages ask for."""

fp32_precision = "none"


def __allow_nonbracketed_mutation():
    """A block in which the flags may be set after `disable_global_flags`, as PyTorch's own `flags()` do."""
    from claygrad.backends._flags import thawed
    return thawed()
