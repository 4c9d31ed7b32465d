"""Names of `torch.nn.modules` that other packages ask for."""
