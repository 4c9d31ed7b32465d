"""Answers of PyTorch's modules that claygrad otherwise only names: one file for each, at the same path."""
