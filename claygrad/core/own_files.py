"""Which files are claygrad's own: their lines are left out of what users see."""
from __future__ import annotations

import os

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_COMPILED = (os.path.join("claygrad", "core", ""), os.path.join("claygrad", "native", ""))      # as Cython names them
_OURS = (HOME, *_COMPILED)


def is_own_file(path: str) -> bool:
    """Whether it is a file of claygrad, under whatever name it was imported."""
    return path.startswith(_OURS)
