"""Modules below `torch.utils.tensorboard` that other packages import from."""
