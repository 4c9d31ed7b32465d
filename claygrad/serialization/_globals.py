"""Which classes and functions a checkpoint names, told from its bytes: nothing of it is run."""
from __future__ import annotations

import pickletools
from collections.abc import Iterator

from claygrad.serialization._rebuild import known, modern


def named(data: bytes) -> Iterator[tuple[str, str]]:
    """Module and name of every global in a pickle. Those that a pickle puts together while it runs are not seen."""
    memo: dict[int, object] = {}
    pushed: list[object] = []                   # strings, for STACK_GLOBAL takes the two last
    for code, argument, _ in pickletools.genops(data):
        if code.name == "GLOBAL":
            module, name = str(argument).split(" ", 1)
            yield module, name
        elif code.name == "STACK_GLOBAL":
            if len(pushed) < 2:
                raise ValueError("the pickle names a global without a name")
            yield str(pushed[-2]), str(pushed[-1])
        elif code.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(str(argument))] = pushed[-1] if pushed else None
        elif code.name == "MEMOIZE":
            memo[len(memo)] = pushed[-1] if pushed else None
        elif code.name in ("BINGET", "LONG_BINGET", "GET"):
            pushed.append(memo.get(int(str(argument))))
        elif isinstance(argument, str) or not argument:
            pushed.append(argument)


def unsafe(data: bytes, allowed: set[str]) -> list[str]:
    """The full names of those that `weights_only=True` would refuse."""
    found = (modern(*one) for one in named(data))
    full = [f"{module}.{name}" for module, name in found if known(module, name) is None]
    return list(dict.fromkeys(one for one in full if one not in allowed))
