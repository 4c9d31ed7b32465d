"""The table of docs/devices.md: which operations agree with the CPU on a device.

    python -m tests.devices.coverage xpu [--write docs/devices.md]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from tests.devices.compare import HOST_ONLY, SAID, differences


def measured(device: str) -> dict[str, list[str]]:
    """Operations by what became of them: "agree", "lacks" or "wrong"."""
    found: dict[str, list[str]] = defaultdict(list)
    for key, said in SAID.items():
        if said.name in HOST_ONLY:
            continue
        words = {word for word, _ in differences(key, device)}
        found["wrong" if "wrong" in words else "lacks" if words else "agree"].append(
            said.name if said.namespaces[0] == "torch" else f"{said.namespaces[0]}.{said.name}")
    return found


def table(device: str, found: dict[str, list[str]]) -> str:
    total = sum(map(len, found.values()))
    share = 100 * len(found['agree']) / total
    lines = ["| device | operations | agree with the CPU | refused | wrong |", "|---|--:|--:|--:|--:|",
             f"| `{device}` | {total} | {len(found['agree'])} ({share:.1f} %) | {len(found['lacks'])} | {len(found['wrong'])} |", "",
             "Refused, with the way out: " + ", ".join(f"`{name}`" for name in sorted(found["lacks"])) + "."]
    if found["wrong"]:
        lines.append("\nWrong: " + ", ".join(f"`{name}`" for name in sorted(found["wrong"])) + ".")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    device = arguments[0]
    text = table(device, measured(device))
    print(text)
    if "--write" in arguments:
        page = Path(arguments[arguments.index("--write") + 1])
        before, _, rest = page.read_text().partition(f"<!-- {device} -->\n")
        _, _, after = rest.partition(f"<!-- end of {device} -->")
        page.write_text(f"{before}<!-- {device} -->\n{text}\n<!-- end of {device} -->{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
