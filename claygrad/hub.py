"""`torch.hub`: models from a folder with a `hubconf.py`, and states from files; claygrad downloads nothing."""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
from typing import Any

from claygrad._lazy import lazy
from claygrad.core.cpython.entry_points import guard_package

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 128 * 1024
_hub_dir: str | None = None
urlparse = urllib.parse.urlparse


def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder in which files are looked for: that of `set_dir`, or `hub` below TORCH_HOME."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Look for files in another folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _configuration(repo_or_dir: str, source: str, what: str) -> Any:
    """The module hubconf.py of a folder."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = repo_or_dir
    if source == "github":
        owner, _, rest = repo_or_dir.partition("/")
        name, _, branch = rest.partition(":")
        branches = [branch] if branch else ["main", "master"]
        fetched = [os.path.join(get_dir(), f"{owner}_{name}_{one}") for one in branches]
        there = [path for path in fetched if os.path.exists(path)]
        if not there:
            raise NotImplementedError(f"torch.hub.{what} would download {repo_or_dir}, and claygrad downloads "
                                      f"nothing;\n"
                                      "  instead: clone the repository, then use source='local' with its folder")
        folder = there[0]
    path = os.path.join(folder, MODULE_HUBCONF)
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        if spec is None or spec.loader is None:
            raise FileNotFoundError(path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(module, VAR_DEPENDENCY, None) or []
    missing = [name for name in needed if name not in sys.modules and importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """What the function `model` of a folder's hubconf.py returns; repositories must have been fetched before."""
    return _entry(_configuration(repo_or_dir, source.lower(), "load"), model)(*args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None,
         verbose: bool = True) -> Any:
    """The functions that a fetched repository, or a folder, offers."""
    source = "local" if os.path.isdir(github) else "github"
    module = _configuration(github, source, "list")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = None) -> Any:
    """The documentation of a function that a fetched repository, or a folder, offers."""
    source = "local" if os.path.isdir(github) else "github"
    return _entry(_configuration(github, source, "help"), model).__doc__


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy a file:// address to a file, whole or not at all; other addresses are refused."""
    if urlparse(url).scheme != "file":
        raise NotImplementedError(f"claygrad downloads nothing: {url}\n  instead: download it yourself to {dst}, "
                                  f"where it is "
                                  "found the next time")
    target = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with urllib.request.urlopen(url) as source, tempfile.NamedTemporaryFile(
            dir=os.path.dirname(target) or ".", delete=False) as copy:
        try:
            while chunk := source.read(READ_DATA_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
            copy.close()
            found = digest.hexdigest()
            if hash_prefix is not None and not found.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            shutil.move(copy.name, target)
        finally:
            copy.close()
            if os.path.exists(copy.name):
                os.remove(copy.name)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None, weights_only: bool = False) -> Any:
    """The state in a file that was fetched before (`model_dir`, or `checkpoints` below `get_dir()`), or at file://."""
    from claygrad.serialization import load as read
    folder = model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        prefix = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, prefix[1] if prefix else None, progress)
    if zipfile.is_zipfile(cached):
        with zipfile.ZipFile(cached) as packed:
            members = packed.infolist()
            if len(members) == 1 and not members[0].is_dir():       # a state inside an archive, not one itself
                cached = packed.extract(members[0], folder)
    return read(cached, map_location=map_location, weights_only=weights_only)


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
