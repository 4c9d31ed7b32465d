"""Distributions against PyTorch."""
