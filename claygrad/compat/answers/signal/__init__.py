"""`torch.signal`."""
