"""How far claygrad's and PyTorch's results are from the true values, in units in the last place."""
