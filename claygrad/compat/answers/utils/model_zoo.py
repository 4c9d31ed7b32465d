"""Names of `torch.utils.model_zoo` that other packages take from there."""
from claygrad.compat.answers.hub import tqdm  # noqa: F401
