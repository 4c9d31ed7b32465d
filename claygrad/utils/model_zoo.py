"""`torch.utils.model_zoo`: the name that `torch.hub.load_state_dict_from_url` had before."""
from claygrad.hub import download_url_to_file as _download_url_to_file  # noqa: F401
from claygrad.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
