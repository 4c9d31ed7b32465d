"""Queues between processes: Python's own, whose pipes carry tensors in shared memory."""
from __future__ import annotations

import io
import pickle
from multiprocessing.queues import Queue, SimpleQueue
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection whose `send` and `recv` carry tensors in shared memory, whatever those of the connection do."""

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Pickle an object and send it."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.conn.send_bytes(buffer.getvalue())

    def recv(self) -> Any:
        """Receive an object."""
        return pickle.loads(self.conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")
