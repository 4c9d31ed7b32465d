"""`torch._functorch`: where PyTorch keeps function transforms."""
