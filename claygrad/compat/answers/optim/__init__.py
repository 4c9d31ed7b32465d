"""Private names of `torch.optim` that other packages ask for."""
