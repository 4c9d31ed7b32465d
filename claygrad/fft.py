"""`torch.fft`: discrete Fourier transforms, as declared in `claygrad.ops`."""
from claygrad.ops._registry import NAMESPACES

globals().update(NAMESPACES["fft"])
__all__ = sorted(NAMESPACES["fft"])
