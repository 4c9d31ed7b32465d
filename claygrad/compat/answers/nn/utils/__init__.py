"""Names of `torch.nn.utils` that other packages ask for."""
