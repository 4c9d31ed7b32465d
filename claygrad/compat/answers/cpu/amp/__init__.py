"""Names of `torch.cpu.amp` that other packages ask for."""
