"""`torch.hub` without a network: folders with a hubconf.py, cached files and file:// addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

import claygrad
from claygrad import hub

CONFIGURATION = '''
dependencies = ["numpy"]
from helper_of_hubconf import width

def linear(pretrained=False, **kwargs):
    """A linear layer."""
    import claygrad
    return claygrad.nn.Linear(width, width, **kwargs)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hubconf.py").write_text(CONFIGURATION)
    (tmp_path / "helper_of_hubconf.py").write_text("width = 3\n")
    return tmp_path


def test_a_local_folder(folder: Path) -> None:
    made = hub.load(str(folder), "linear", source="local", bias=False)
    assert made.weight.shape == (3, 3)
    assert made.bias is None
    assert hub.list(str(folder)) == ["linear"]
    assert hub.help(str(folder), "linear") == "A linear layer."


def test_what_is_wrong_is_said(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="Cannot find callable conv in hubconf"):
        hub.load(str(folder), "conv", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(str(folder), "linear", source="web")
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package_at_all']\ndef f(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_at_all"):
        hub.load(str(folder), "f", source="local")


def test_states_from_files(tmp_path: Path) -> None:
    state = claygrad.nn.Linear(2, 2).state_dict()
    claygrad.save(state, tmp_path / "model-0a1b.pt")
    cache = tmp_path / "cache"
    address = (tmp_path / "model-0a1b.pt").as_uri()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(address, str(cache), check_hash=True)
    assert list(cache.iterdir()) == []
    read = hub.load_state_dict_from_url(address, str(cache))
    assert claygrad.equal(read["weight"], state["weight"])
    far = "https://pytorch.org/models/model-0a1b.pt"          # found in the cache by its name
    assert claygrad.equal(claygrad.utils.model_zoo.load_url(far, str(cache))["bias"], state["bias"])
    with pytest.raises(NotImplementedError, match="claygrad downloads nothing"):
        hub.load_state_dict_from_url("https://pytorch.org/models/other.pt", str(cache))


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir(tmp_path / "elsewhere")
    assert hub.get_dir() == str(tmp_path / "elsewhere")
