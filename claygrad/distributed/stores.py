"""Stores: bytes under keys that several processes share. The names are `torch.distributed`'s.

`HashStore` lives in one process, `FileStore` in a file that all can write, `TCPStore` in one process that the others
reach through `multiprocessing.connection`. Process groups do not need them: MPI knows its ranks.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributed._group import DistNetworkError, DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_NAP = 0.005


def _bytes(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n"
        f"  a value is str or bytes, but got {type(value).__name__}"
    )


class Store:
    """Bytes under keys. `get` and `wait` wait until a key is there, at most `timeout`."""

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    # What a kind of store has to say: how values are read and changed, by all its processes one after the other.

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        """Call `change` with the values, which it may change; what it returns."""
        raise NotImplementedError

    def _wait(self, keys: list[str], seconds: float) -> bool:
        """Wait until all keys are there; False if the time is over."""
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(_NAP)
        return True

    def _too_late(self, keys: list[str], limit: timedelta, get: bool) -> Exception:
        return DistStoreError(f"Wait timeout\n  after {_ms(limit)} ms for {', '.join(keys)}: no process has set it")

    # What programs call.

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        if not isinstance(timeout, timedelta):
            raise TypeError(f"set_timeout(): a datetime.timedelta is wanted, but got {type(timeout).__name__}")
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Put a value under a key."""
        data = _bytes("set", value)
        self._changed(lambda held: held.__setitem__(key, data))

    def get(self, key: str) -> bytes:
        """The value under a key, once it is there."""
        if not self._wait([key], self._timeout.total_seconds()):
            raise self._too_late([key], self._timeout, True)
        found: bytes = self._changed(lambda held: held.get(key, b""))
        return found

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key, 0 where there is none; the sum."""

        def change(held: dict[str, bytes]) -> int:
            total = _number(held.get(key, b"0")) + amount
            held[key] = str(total).encode()
            return total

        total: int = self._changed(change)
        return total

    def check(self, keys: Iterable[str]) -> bool:
        """Whether all keys are there."""
        wanted = list(keys)
        return bool(self._changed(lambda held: all(key in held for key in wanted)))

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Return when all keys are there."""
        wanted, limit = list(keys), timeout or self._timeout
        if not self._wait(wanted, limit.total_seconds()):
            raise self._too_late(wanted, limit, False)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a value if the former one is as expected (or, expecting nothing, if there is none); what is there now."""
        old, new = _bytes("compare_set", expected_value), _bytes("compare_set", desired_value)

        def change(held: dict[str, bytes]) -> bytes:
            if key not in held:
                if old:
                    return old
                held[key] = new
            elif held[key] == old:
                held[key] = new
            return held[key]

        found: bytes = self._changed(change)
        return found

    def append(self, key: str, value: str | bytes) -> None:
        """Add bytes to the end of a value."""
        data = _bytes("append", value)
        self._changed(lambda held: held.__setitem__(key, held.get(key, b"") + data))

    def multi_get(self, keys: Iterable[str]) -> list[bytes]:
        """The values under several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Iterable[str], values: Iterable[str | bytes]) -> None:
        """Put values under several keys, at once."""
        pairs = {key: _bytes("multi_set", value) for key, value in zip(keys, values, strict=True)}
        self._changed(lambda held: held.update(pairs))

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return bool(self._changed(lambda held: held.pop(key, None) is not None))

    def num_keys(self) -> int:
        """How many keys there are."""
        count: int = self._changed(len)
        return count

    def list_keys(self) -> list[str]:
        """All keys."""
        found: list[str] = self._changed(list)
        return found

    def clone(self) -> Store:
        """The same values, for another thread."""
        return self


def _ms(limit: timedelta) -> int:
    return int(limit.total_seconds() * 1000)


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"stoll\n  the value there is {text!r}, no number to add to") from None


class HashStore(Store):
    """A store of one process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, bytes] = {}
        self._news = threading.Condition()

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        with self._news:
            out = change(self._held)
            self._news.notify_all()
            return out

    def _wait(self, keys: list[str], seconds: float) -> bool:
        with self._news:
            return self._news.wait_for(lambda: all(key in self._held for key in keys), seconds)


class FileStore(Store):
    """A store in a file: a line for each change, written under a lock. All processes that see the file share it."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.fspath(file_name)
        self._held: dict[str, bytes] = {}
        self._read = 0
        self._mine = threading.Lock()
        with open(self.path, "ab"):
            pass

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Any]:
        import fcntl

        with self._mine, open(self.path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield file
            finally:
                file.flush()
                fcntl.flock(file, fcntl.LOCK_UN)

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        with self._locked() as file:
            file.seek(self._read)
            for line in file:
                key, value = json.loads(line)
                if value is None:
                    self._held.pop(key, None)
                else:
                    self._held[key] = value.encode("latin-1")
            before = dict(self._held)
            out = change(self._held)
            for key in {**before, **self._held}:
                new = self._held.get(key)
                if new != before.get(key):
                    text = None if new is None else new.decode("latin-1")
                    file.write(json.dumps([key, text]).encode() + b"\n")
            self._read = file.tell()
            return out

    def _too_late(self, keys: list[str], limit: timedelta, get: bool) -> Exception:
        return RuntimeError(f"Timeout waiting for key: {keys[0]} after {_ms(limit)} ms" if get else "Wait timeout")

    def num_keys(self) -> int:
        """How many keys there are, and one that PyTorch's has for itself."""
        return super().num_keys() + 1


class PrefixStore(Store):
    """A store whose keys begin with a prefix in another store."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix, store

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    @property
    def timeout(self) -> timedelta:
        """That of the store inside."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Of the store inside."""
        self.underlying_store.set_timeout(timeout)

    def __getattribute__(self, name: str) -> Any:
        if name in ("set", "get", "add", "append", "compare_set", "delete_key"):
            inner = getattr(self.underlying_store, name)
            return lambda key, *args, **kwargs: inner(self._key(key), *args, **kwargs)
        if name in ("check", "wait", "multi_get", "multi_set"):
            inner = getattr(self.underlying_store, name)
            return lambda keys, *args, **kwargs: inner([self._key(key) for key in keys], *args, **kwargs)
        return super().__getattribute__(name)

    def num_keys(self) -> int:
        """How many keys the store inside has."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        """The keys with this prefix, without it."""
        start = self._key("")
        return [key[len(start) :] for key in self.underlying_store.list_keys() if key.startswith(start)]


# What a client may ask the process that has the values: a name, texts and numbers. Nothing is pickled.
_REMOTE = ("set", "add", "check", "compare_set", "append", "multi_set", "delete_key", "num_keys", "list_keys", "get")


def _encoded(value: Any) -> bytes:
    return json.dumps(value, default=lambda data: {"bytes": data.decode("latin-1")}).encode()


def _decoded(data: bytes) -> Any:
    return json.loads(data, object_hook=lambda held: held["bytes"].encode("latin-1"))


def _serve(listener: Listener, values: HashStore) -> None:
    while True:
        try:
            connection = listener.accept()
        except OSError:
            return  # the store is gone
        threading.Thread(target=_answer, args=(connection, values), daemon=True).start()


def _answer(connection: Connection, values: HashStore) -> None:
    with contextlib.suppress(EOFError, OSError), connection:
        while True:
            name, *args = _decoded(connection.recv_bytes())
            try:
                if name == "wait":
                    out = values._wait(*args)
                elif name in _REMOTE:
                    out = getattr(values, name)(*args)
                else:
                    raise ValueError(f"no such request: {name}")
                connection.send_bytes(_encoded([True, out]))
            except Exception as wrong:
                connection.send_bytes(_encoded([False, str(wrong)]))


class TCPStore(Store):
    """A store in the process that is master; the others reach it by the master's host and port."""

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore: master_listen_fd is not there\n  say a port, or 0 for a free one")
        self._timeout, self.host, self.libuvBackend = timeout, host_name, use_libuv
        self._one = threading.Lock()
        self._listener: Listener | None = None
        if is_master:
            try:
                self._listener = Listener(("", port), backlog=128)
            except OSError as wrong:
                raise DistNetworkError(
                    f"The server socket has failed to listen on any local network address. port: {port}, "
                    f"useIpv6: false, code: {-(wrong.errno or 0)}, name: EADDRINUSE, message: {wrong.strerror}\n"
                    "  another process has the port; port 0 takes a free one"
                ) from None
            port = self._listener.address[1]
            threading.Thread(target=_serve, args=(self._listener, HashStore()), daemon=True).start()
        self.port = port
        self._connection = self._connect("localhost" if is_master else host_name, port)
        if self._request("add", "init/", 1) and is_master and wait_for_workers and world_size and world_size > 0:
            self._wait_for(world_size)

    def _connect(self, host: str, port: int) -> Any:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                return Client((host, port))
            except OSError as wrong:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {_ms(self._timeout)}ms while trying to connect to "
                        f"({host}, {port}).\n  {wrong}; is_master=True is wanted in one process, on that host"
                    ) from None
                time.sleep(10 * _NAP)

    def _wait_for(self, count: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while int(self._request("get", "init/")) < count:
            if time.monotonic() > end:
                there = int(self._request("get", "init/"))
                raise DistStoreError(
                    f"Timed out after {int(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{there}/{count} clients joined."
                )
            time.sleep(_NAP)

    def _request(self, name: str, *args: Any) -> Any:
        with self._one:
            try:
                self._connection.send_bytes(_encoded([name, *args]))
                good, out = _decoded(self._connection.recv_bytes())
            except (EOFError, OSError) as wrong:
                raise DistNetworkError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or "
                    f"crash?\n  {type(wrong).__name__}: the process that is master of the store has ended"
                ) from None
        if not good:
            raise ValueError(out) if out.startswith("stoll") else DistStoreError(out)
        return out

    def __getattribute__(self, name: str) -> Any:
        if name in _REMOTE and name not in ("get", "num_keys", "list_keys"):
            return lambda *args, **kwargs: self._request(name, *_bound(name, args, kwargs))
        return super().__getattribute__(name)

    def get(self, key: str) -> bytes:
        """The value under a key, once it is there."""
        if not self._wait([key], self._timeout.total_seconds()):
            raise self._too_late([key], self._timeout, True)
        found: bytes = self._request("get", key)
        return found

    def num_keys(self) -> int:
        """How many keys there are, with one that counts the processes."""
        count: int = self._request("num_keys")
        return count

    def list_keys(self) -> list[str]:
        """All keys."""
        return [key for key in self._request("list_keys") if key != "init/"]

    def _wait(self, keys: list[str], seconds: float) -> bool:
        return bool(self._request("wait", keys, seconds))

    def _too_late(self, keys: list[str], limit: timedelta, get: bool) -> Exception:
        return DistStoreError(f"wait timeout after {_ms(limit)}ms, keys: {', '.join(f'/{key}' for key in keys)}")

    def clone(self) -> TCPStore:
        """Another connection to the same values."""
        return TCPStore(self.host, self.port, None, False, self._timeout)

    def __del__(self) -> None:
        listener = self.__dict__.get("_listener")
        if listener is not None:
            listener.close()


_NAMES = {
    "set": ("key", "value"),
    "add": ("key", "amount"),
    "check": ("keys",),
    "compare_set": ("key", "expected_value", "desired_value"),
    "append": ("key", "value"),
    "multi_set": ("keys", "values"),
    "delete_key": ("key",),
}


def _bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments in their order, values as bytes."""
    names = _NAMES[name]
    if len(args) + len(kwargs) != len(names) or not set(kwargs) <= set(names[len(args) :]):
        raise TypeError(f"{name}(): the arguments are {', '.join(names)}")
    held = dict(zip(names, args)) | kwargs
    out = []
    for word in names:
        value = held[word]
        if word == "values":
            value = [_bytes(name, one) for one in value]
        elif word.endswith("value"):
            value = _bytes(name, value)
        elif word == "keys":
            value = list(value)
        out.append(value)
    return out

guard_package(__name__)          # Note [Entry points]
