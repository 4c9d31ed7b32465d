"""Parts of `torch.distributed` that claygrad has not, as far as other packages ask for them."""
