"""Parts of `torch.distributed.elastic`, as far as programs ask for them."""
