"""Names of `torch.backends` that other packages ask for."""

fp32_precision = "none"
