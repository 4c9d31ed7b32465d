"""Say what a machine lacks for building claygrad, before pip or meson say it less clearly.

    python tools/preflight.py             # for the Makefile, which makes virtual environments too
    python tools/preflight.py compile     # for meson.build: what compiling needs

Runs under whatever Python is there, so it keeps to the syntax of old ones.
"""

import os
import shutil
import sys
import sysconfig

OLDEST = (3, 11)


def _makes_environments():
    try:
        import ensurepip
        import venv  # noqa: F401
        ensurepip.version()
    except (ImportError, FileNotFoundError):
        return False
    return True


def missing(compile_only=False):
    """Sentences, each naming one missing thing and the way to get it."""
    if sys.version_info < OLDEST:
        # Nothing below would be true of the Python that is used in the end.
        return ["claygrad needs Python %d.%d or later; this is %s. Name another one: make PYTHON=python3.12 ..."
                % (*OLDEST, sys.version.split()[0])]
    found = []
    if not compile_only and not _makes_environments():
        found.append("this Python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv")
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        found.append("the C headers of this Python are missing; on Debian and Ubuntu: apt-get install python3-dev, "
                     "on Fedora: dnf install python3-devel")
    compiler = os.environ.get("CXX", "").split()[:1] or ["c++", "g++", "clang++"]
    if not any(map(shutil.which, compiler)):
        found.append("there is no C++ compiler; on Debian and Ubuntu: apt-get install g++, "
                     "on Fedora: dnf install gcc-c++, on macOS: xcode-select --install")
    return found


if __name__ == "__main__":
    found = missing(compile_only=sys.argv[1:] == ["compile"])
    sys.exit("".join("%s\n" % sentence for sentence in found).rstrip() or None)
