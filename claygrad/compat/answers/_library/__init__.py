"""`torch._library`: where PyTorch keeps what `torch.library` is made of."""
