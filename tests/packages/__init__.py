"""Public packages written for PyTorch: a small real use of each, and the numbers that PyTorch gives."""
