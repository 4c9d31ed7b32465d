"""`typing.get_type_hints` works on every public class: packages ask for those of Module's subclasses."""

from __future__ import annotations

import importlib
import pkgutil
import typing

import claygrad

# The files of single array modules need these modules.
INNER = ("claygrad.devices._xpu", "claygrad.devices._cuda", "claygrad.core", "claygrad.native", "claygrad.compat", "claygrad.cli", "claygrad.__main__", "claygrad.fx")


def test_the_hints_of_every_public_class() -> None:
    seen = 0
    for found in pkgutil.walk_packages(claygrad.__path__, "claygrad."):
        if found.name.startswith(INNER):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, type) and not name.startswith("_") and value.__module__.startswith("claygrad") \
                    and not value.__module__.startswith(INNER):
                typing.get_type_hints(value)
                seen += 1
    assert seen > 300
