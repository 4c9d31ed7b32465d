"""`torch._lowrank`: factors of low rank."""
from claygrad import pca_lowrank, svd_lowrank

__all__ = ["pca_lowrank", "svd_lowrank"]
