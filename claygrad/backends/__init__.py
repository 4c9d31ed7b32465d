"""Backends, as programs ask for them and set their flags: `torch.backends`. claygrad has kernels of its own."""
from claygrad._lazy import lazy
from claygrad.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum
from claygrad.backends._flags import disable_global_flags, flags_frozen

__all__ = ["cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mha", "mkl", "mkldnn", "mps", "openmp",
           "opt_einsum"]

__getattr__ = lazy(__name__)
