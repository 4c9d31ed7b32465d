"""Answers of modules below `torch.jit`."""
