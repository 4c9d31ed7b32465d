"""Where claygrad does not do as PyTorch does over its operator database, each with the reason.

The key is (entry, check) or (entry, check, dtype). The coverage table in the documentation is made from this.
"""

from __future__ import annotations

# Entries that claygrad does not have.
ABSENT: dict[str, str] = {}

# What both round differently on some machines and alike on others.
ROUNDING: dict[tuple[str, ...], str] = {
    **{("cov", check, dtype): "sums of float32 weights differ by one rounding, which a difference of near equals enlarges"
       for check in ("forward", "gradients", "variants", "layouts") for dtype in ("float64", "complex128")},
    ("linalg.eig", "gradients", "float32"): "second derivatives in single precision: either library is nearer to the double result",
}

GAPS: dict[tuple[str, ...], str] = {
    ("resize_", "edges"): "an empty tensor that grows shows memory that nobody wrote",
    ("nn.functional.pixel_unshuffle", "edges"): "PyTorch leaves an empty tensor in the shape it has",
    ("grid_sampler_2d", "gradients", "float32"): "sums of thousands that cancel; neither library is nearer to the double result",
    **{(f"__{name}__", "errors"): "a method called on an int: Python's own text" for name in ("radd", "rmul", "rand", "ror", "rxor")},
    ("nn.functional.multi_margin_loss", "edges"): "PyTorch's mean of no losses is memory that nobody wrote; here it is nan",
    ("nn.functional.multilabel_margin_loss", "edges"):
        "PyTorch's mean of no losses is memory that nobody wrote; here it is nan",
    ("native_group_norm", "layouts"): "PyTorch refuses an input with gaps in memory, claygrad takes it",
    ("nn.functional.instance_norm", "forward", "bfloat16"): "a variance between two bfloat16 numbers is not always rounded to the same",
    ("special.zeta", "special"): "torch gives NaN where every term is below the smallest number; claygrad 0",
    ("special.log_ndtr", "gradients", "float32"): "a difference of near equals in the second derivative; torch's is noisier",
    ("special.airy_ai", "special", "float32"): "torch's phase overflows in single precision; claygrad computes in double",
    ("special.bessel_j0", "forward", "float64"): "torch has only 5 digits just above 5; SciPy has 16",
    ("special.bessel_j0", "layouts", "float64"): "torch has only 5 digits just above 5; SciPy has 16",
    ("special.bessel_y1", "forward", "float64"): "torch has only 5 digits just above 5; SciPy has 16",
    ("special.bessel_y1", "layouts", "float64"): "torch has only 5 digits just above 5; SciPy has 16",
    ("special.modified_bessel_k1", "special", "float32"): "half of the smallest number is 0 in torch, and then NaN",
    ("special.scaled_modified_bessel_k1", "special", "float32"): "half of the smallest number is 0 in torch, and then NaN",
    ("as_strided_scatter", "gradients"): "torch's gradient of input is 1 where src was put and 0 elsewhere; it is the reverse",
    **ROUNDING,
    ("istft", "gradients", "complex128"): "the window of two samples is a view made outside of the graph; torch loses it",
    ("logcumsumexp", "gradients", "float32"): "torch sums positive and negative parts apart and loses three digits",
    ("gather", "errors"): "an out= that must grow over its own index; torch refuses, claygrad reads before it writes",
    ("fft.hfft2", "layouts", "int64"): "sums of 210 numbers in single precision, rounded in another order",
    ("fft.hfft2", "forward", "float32"): "sums of 210 numbers in single precision; torch's error is twice claygrad's",
    ("linalg.householder_product", "gradients", "float32"): "torch divides reflections out again: its error is ten times "
        "claygrad's",
    ("matrix_exp", "forward", "bfloat16"): "torch overflows on the way and answers NaN",
    ("matrix_exp", "forward", "float16"): "torch overflows on the way and answers NaN",
    ("matrix_exp", "gradients", "float32"): "computed in double precision: torch's error is several times claygrad's",
    ("svd", "gradients", "float32"): "second derivatives in single precision: torch's error is nine times claygrad's",
    ("linalg.svd", "gradients", "float32"): "second derivatives in single: torch's error is nine times claygrad's",
    ("linalg.eigh", "gradients", "float32"): "second derivatives in single: torch's error is four times claygrad's",
    ("linalg.norm.subgradients_at_zero", "gradients"): "the second derivative at 0 is 0, as the first is; torch says NaN",
    ("linalg.lstsq", "gradients", "float32"): "second derivatives in single: torch's error is twice claygrad's",
    ("linalg.lstsq.grad_oriented", "gradients", "float32"): "second derivatives in single: torch's error is twice claygrad's",
    ("nn.functional.normalize", "gradients", "float32"): "single precision: what both round to differently is 0",
}
