"""Private names of `torch.distributions.transforms` that other packages ask for."""
from claygrad.distributions._transform_each import clipped_sigmoid as _clipped_sigmoid  # noqa: F401
