"""Where claygrad does not do as PyTorch does over its operator database, each with the reason.

The key is (entry, check) or (entry, check, dtype). The coverage table in the documentation is made from this.
"""

from __future__ import annotations

GAPS: dict[tuple[str, ...], str] = {
    ("native_layer_norm", "gradients"): "PyTorch's second derivative fails where there is a bias but no weight",
    ("fft.hfft2", "forward", "float32"): "sums of 210 numbers in single precision; torch's error is twice claygrad's",
}
