"""claygrad over PyTorch's own operator database: every operation, every sample, every form it can take."""
