"""`torch.functional`: functions of `torch` itself, under their former home."""
import claygrad

NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
         "block_diag", "cdist", "chain_matmul", "einsum", "istft", "lu", "norm", "meshgrid", "pca_lowrank", "split",
         "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index")
globals().update({name: getattr(claygrad, name) for name in NAMES if hasattr(claygrad, name)})
