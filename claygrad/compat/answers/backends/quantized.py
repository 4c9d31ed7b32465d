"""`torch.backends.quantized`: there are no quantized tensors, and so no engine for them."""
engine = "none"
supported_engines = ["none"]
