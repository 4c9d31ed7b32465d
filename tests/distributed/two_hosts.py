"""Run a program on two hosts: two network namespaces of this machine, with a link between them that delays every packet.

    sudo python tests/distributed/two_hosts.py [--delay 1.0] [--each 1] PROGRAM [ARGS...]

Each namespace has its own interfaces, addresses and routes, so the ranks in them reach each other through the link alone. The
link is a veth pair with tc's netem where the kernel has that; otherwise a pair of TUN interfaces, and a process that takes packets
from one and gives them to the other when their time has come. Says so, and ends with 77, where it may not make namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

NO_RIGHT = 77
ADDRESSES = ("10.203.7.1", "10.203.7.2")
# The namespaces share this machine's memory, which MPICH (UCX below it) would find out and use instead of the link.
OVER_THE_LINK = {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp"}
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


class NoRight(Exception):
    """This process may not make namespaces, or lacks the tools."""


def ip(*args: str, check: bool = True) -> None:
    try:
        done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        raise NoRight("there is no command `ip` (package iproute2)") from None
    if check and done.returncode:
        raise NoRight(f"`ip {' '.join(args)}`: {done.stderr.strip()}")


def tun(name: str) -> int:
    try:
        handle = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError as wrong:
        raise NoRight(f"the kernel has no netem, and /dev/net/tun: {wrong}") from None
    return handle


def relay(ends: tuple[int, int], delay: float) -> None:
    """Hand packets on, each `delay` seconds after it came. Runs until it is killed."""
    waiting: deque[tuple[float, int, bytes]] = deque()
    while True:
        limit = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], limit)[0]:
            packet = os.read(end, 70_000)
            waiting.append((time.monotonic() + delay, ends[0] if end == ends[1] else ends[1], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, end, packet = waiting.popleft()
            with contextlib.suppress(OSError):
                os.write(end, packet)


@contextlib.contextmanager
def two_hosts(delay: float) -> Iterator[tuple[list[str], str]]:
    """The names of two namespaces, and what links them; all of it is gone afterwards."""
    spaces = [f"clay{os.getpid()}{side}" for side in "ab"]
    links = [f"cl{os.getpid() % 100000}{side}" for side in "ab"]
    child = 0
    try:
        for space in spaces:
            ip("netns", "add", space)
        ip("link", "add", links[0], "netns", spaces[0], "type", "veth", "peer", "name", links[1], "netns", spaces[1])
        kind = "veth and netem"
        netem = [subprocess.run(["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", link, "root", "netem", "delay", f"{delay}ms"],
                                capture_output=True).returncode for space, link in zip(spaces, links)]
        if any(netem):
            kind = "TUN and a delaying process"
            ip("-n", spaces[0], "link", "del", links[0])
            ends = tun(links[0]), tun(links[1])
            for space, link in zip(spaces, links):
                ip("link", "set", "dev", link, "netns", space)
            child = os.fork()
            if child == 0:
                relay(ends, delay / 1000)
            for end in ends:
                os.close(end)
        for space, link, address in zip(spaces, links, ADDRESSES):
            ip("-n", space, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", space, "link", "set", "dev", link, "mtu", "9000")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", link, "up")
        yield spaces, kind
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for space in spaces:
            with contextlib.suppress(NoRight):
                ip("netns", "del", space, check=False)


def sent(space: str) -> int:
    """Bytes that left a namespace through its link."""
    text = subprocess.run(["ip", "netns", "exec", space, "cat", "/proc/net/dev"], capture_output=True, text=True).stdout
    return sum(int(line.split(":")[1].split()[8]) for line in text.splitlines() if line.strip().startswith("cl"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a program on two hosts, which are network namespaces of this machine.")
    parser.add_argument("--delay", type=float, default=1.0, help="milliseconds that a packet takes")
    parser.add_argument("--each", type=int, default=1, help="ranks on each host")
    parser.add_argument("--timeout", type=float, default=100)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("two hosts: this process has no right to make network namespaces; run it as root", file=sys.stderr)
        return NO_RIGHT
    try:
        with two_hosts(options.delay) as (spaces, kind), tempfile.TemporaryDirectory() as folder:
            shell = Path(folder, "shell")
            shell.write_text("#!/bin/sh\nwhile case $1 in -*) true;; *) false;; esac; do shift; done\nhost=$1; shift\n"
                             f"case $host in {ADDRESSES[0]}) space={spaces[0]};; *) space={spaces[1]};; esac\n"
                             'exec ip netns exec "$space" sh -c "$*"\n')
            shell.chmod(0o755)
            command = ["ip", "netns", "exec", spaces[0], str(Path(sys.executable).with_name("mpiexec")), "-n", str(2 * options.each),
                       "-ppn", str(options.each), "-hosts", ",".join(ADDRESSES), "-launcher", "ssh", "-launcher-exec", str(shell),
                       sys.executable, "-P", *options.program]
            process = subprocess.Popen(command, env={**os.environ, **OVER_THE_LINK})
            try:
                code = process.wait(timeout=options.timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                code = 1
            print(f"two hosts, {kind}, {options.delay} ms: {sent(spaces[0])} and {sent(spaces[1])} bytes went through the link")
            return code
    except NoRight as wrong:
        print(f"two hosts: no right to make network namespaces here: {wrong}", file=sys.stderr)
        return NO_RIGHT


if __name__ == "__main__":
    sys.exit(main())
