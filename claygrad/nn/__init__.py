"""Neural networks: for now the functions; modules come next."""
from claygrad.nn import functional

__all__ = ["functional"]
