"""Where claygrad does not do as PyTorch does over its operator database, each with the reason.

The key is (entry, check) or (entry, check, dtype). The coverage table in the documentation is made from this.
"""

from __future__ import annotations

GAPS: dict[tuple[str, ...], str] = {
    ("native_layer_norm", "gradients"): "PyTorch's second derivative fails where there is a bias but no weight",
    ("native_group_norm", "layouts"): "PyTorch refuses an input with gaps in memory, claygrad takes it",
    ("native_batch_norm", "forward", "bfloat16"): "a variance between two bfloat16 numbers is not always rounded to the same",
    ("nn.functional.batch_norm", "forward", "bfloat16"): "a variance between two bfloat16 numbers is not always rounded to the same",
    ("nn.functional.instance_norm", "forward", "bfloat16"): "a variance between two bfloat16 numbers is not always rounded to the same",
    ("fft.hfft2", "forward", "float32"): "sums of 210 numbers in single precision; torch's error is twice claygrad's",
}
