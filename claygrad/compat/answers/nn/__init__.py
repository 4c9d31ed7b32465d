"""Names of `torch.nn` that other packages ask for."""
