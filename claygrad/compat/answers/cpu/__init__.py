"""Names of `torch.cpu` that other packages ask for."""
