"""Private names of `torch.distributions` that other packages ask for."""
