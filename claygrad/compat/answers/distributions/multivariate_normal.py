"""Private names of `torch.distributions.multivariate_normal` that distributions of other packages are made of."""
from claygrad.distributions.multivariate_normal import batch_mv as _batch_mv  # noqa: F401
from claygrad.distributions.multivariate_normal import mahalanobis as _batch_mahalanobis  # noqa: F401
from claygrad.distributions.multivariate_normal import precision_to_scale_tril as _precision_to_scale_tril  # noqa: F401
