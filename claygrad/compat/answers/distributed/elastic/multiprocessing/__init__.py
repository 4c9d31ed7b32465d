"""Parts of `torch.distributed.elastic.multiprocessing`, as far as programs ask for them."""
