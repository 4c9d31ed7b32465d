"""Names of `torch.cuda.amp` that other packages ask for."""
