"""Names of `torch.hub` that other packages take from there."""
from claygrad.compat.refusing import refusing_class

try:
    from tqdm.auto import tqdm
except ImportError:
    tqdm = refusing_class("torch.hub.tqdm")
