"""`torch.signal.windows`."""
