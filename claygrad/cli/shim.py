"""`claygrad shim --install`: a tiny distribution named torch, so that packages find their requirement met."""
from __future__ import annotations

import argparse
import base64
import hashlib
import importlib
import importlib.metadata
import os
import shutil
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any

from claygrad.cli._usage import UsageError

_INIT = '''"""claygrad under the name torch."""
__claygrad_shim__ = True

import claygrad

claygrad.as_torch()
'''

_UNUSED = '"""claygrad under the name torch: see the stub beside this file."""\n'
_PIP_SETTINGS = """# Made by `claygrad shim --install`; `claygrad shim --uninstall` and `pip uninstall torch` remove it.
# pip chooses versions of other packages that accept this version of torch, and does not replace it by PyTorch.
[install]
constraint = {constraint}
"""
_OF_ANY = """from typing import Any


def __getattr__(name: str) -> Any: ...
"""


def add_to(parts: Any) -> None:
    parser = parts.add_parser("shim", help="install claygrad under the name torch",
                              description="Put a tiny distribution named torch into this environment: `import torch` "
                                          "gives claygrad, and pip finds the requirement of other packages met.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--install", action="store_true")
    which.add_argument("--uninstall", action="store_true", help="`pip uninstall torch` does the same")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    site = Path(sysconfig.get_path("purelib"))
    if options.install:
        constraint = install(site)
        print("`import torch` gives claygrad in this environment. To undo it: claygrad shim --uninstall\n"
              f"  {site / 'torch'}")
        settings = _pip_settings(site)
        if settings is None or constraint not in settings.read_text():
            print("pip's settings stay as they are. Add these lines to them, so that pip does not replace the shim\n"
                  "by PyTorch for a package that wants another version of torch:\n"
                  f"  [install]\n  constraint = {constraint}")
    else:
        uninstall(site)
        print("`import torch` no longer gives claygrad in this environment.")
    return 0


def install(site: Path) -> str:
    """Write the package and its metadata, and tell pip to keep it; what a real torch left is never touched.

    Returns the address of the file that holds pip to this version.
    """
    from claygrad.compat.standin import DISTRIBUTION_VERSION as version
    _refuse_real_torch(site)
    uninstall(site, there=False)
    files = {"torch/__init__.py": _INIT, "torch/py.typed": ""}
    files.update(_stubs())
    info = f"torch-{version}.dist-info"
    # It names no requirement, not even claygrad: for a package that wants a NumPy which claygrad does not, pip would
    # replace the shim by the real torch instead of saying so.
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
                                 "Summary: claygrad under the name torch\n")
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: claygrad\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/INSTALLER"] = "claygrad\n"
    files[f"{info}/top_level.txt"] = "torch\n"
    # The newest torchvision wants the newest torch. Without a constraint pip would fetch both, instead of an older one.
    files[f"{info}/constraints.txt"] = f"torch=={version}\n"
    constraint = (site / info / "constraints.txt").as_uri()
    settings = _pip_settings(site)
    if settings is not None and not settings.exists():
        files[os.path.relpath(settings, site)] = _PIP_SETTINGS.format(constraint=constraint)
    record = []
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
    record.append(f"{info}/RECORD,,")
    (site / info / "RECORD").write_text("\n".join(record) + "\n")
    return constraint


def _pip_settings(site: Path) -> Path | None:
    """Where pip looks for the settings of a virtual environment. None elsewhere: other programs have those, too."""
    if sys.prefix == sys.base_prefix or not site.is_relative_to(sys.prefix):
        return None
    return Path(sys.prefix, "pip.ini" if os.name == "nt" else "pip.conf")


def uninstall(site: Path, *, there: bool = True) -> None:
    ours = sorted(site.glob("torch-*+claygrad.dist-info"))
    if not ours and there:
        raise UsageError("there is nothing to uninstall: `claygrad shim --install` was not used in this environment")
    if ours:
        shutil.rmtree(site / "torch", ignore_errors=True)
    for info in ours:
        settings = _pip_settings(site)
        if settings is not None and os.path.relpath(settings, site) in (info / "RECORD").read_text():
            settings.unlink(missing_ok=True)
        shutil.rmtree(info)


def _refuse_real_torch(site: Path) -> None:
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = None
    if version is not None and "claygrad" not in version:
        raise UsageError(f"PyTorch {version} itself is installed here; `pip uninstall torch` first, or use `claygrad "
                         "run`, which leaves it alone")
    if version is None and (site / "torch").exists():
        raise UsageError(f"{site / 'torch'} is there and was not made by claygrad")


def _stubs() -> dict[str, str]:
    """For type checkers: each public module of claygrad once more, under torch, and those that only `compat` knows.

    Beside each stub is a module without code, because checkers ask for the source of a stub. It is never run: the first
    `import torch` lets every module below it be claygrad's.
    """
    import claygrad
    from claygrad.compat.names import table
    root = Path(claygrad.__file__).parent
    stubs = {}
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] in ("core", "native", "ops", "cli", "compat", "__main__"):
            continue
        package = parts[-1] == "__init__"
        module = ".".join(["claygrad", *(parts[:-1] if package else parts)])
        stubs["/".join(["torch", *parts])] = f"from {module} import *\n" + "".join(
            f"from {module} import {name} as {name}\n" for name in _listed(module))
    files = {f"{name}.pyi": text for name, text in stubs.items()}
    files.update((f"{name}.py", _UNUSED) for name in stubs if name != "torch/__init__")
    for known in table():
        name = known.replace(".", "/")
        if name not in stubs and f"{name}/__init__" not in stubs:
            files[f"{name}/__init__.py"] = _OF_ANY
    return files


def _listed(module: str) -> list[str]:
    """The names that a module lists in its `__all__`, which checkers do not see where it is computed."""
    if module == "claygrad":
        return ["__version__"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = getattr(importlib.import_module(module), "__all__", ())
    except ImportError:                       # it needs a package that is not there
        return []
    return sorted(name for name in names if name.isidentifier())
