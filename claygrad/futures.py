"""`torch.futures`: results that come later."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that somebody sets once and others wait for, with callbacks."""

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._done = threading.Condition()
        self._state = "waiting"
        self._result: Any = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._state != "waiting"

    def wait(self) -> T:
        """The result, once it is there; raises the error that was set instead."""
        with self._done:
            self._done.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """The result of a future that is done."""
        if self._state == "failed":
            raise self._result
        if self._state == "waiting":
            raise RuntimeError("Future has not been completed\n  wait() for it first.")
        return self._result

    def set_result(self, result: T) -> None:
        """Set the result, and call what was to be called then."""
        self._settle("there", result)

    def set_exception(self, result: BaseException) -> None:
        """Set an error instead of a result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._settle("failed", result)

    def _settle(self, state: str, result: Any) -> None:
        with self._done:
            if self.done():
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can "
                                   "only be marked completed once.")
            self._state, self._result = state, result
            callbacks, self._callbacks = self._callbacks, []
            self._done.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call a function with this future when it is done, now if it is."""
        def guarded(future: Future[T]) -> None:
            try:
                callback(future)
            except Exception as wrong:
                import logging
                logging.getLogger(__name__).error("a callback of a Future raised %r", wrong, exc_info=True)
        self._when_done(guarded)

    def _when_done(self, callback: Callable[[Future[T]], Any]) -> None:
        with self._done:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what the function makes of this one."""
        out: Future[S] = Future()

        def run(future: Future[T]) -> None:
            try:
                result = callback(future)
            except Exception as wrong:
                out.set_exception(wrong)
            else:
                out.set_result(result)

        self._when_done(run)
        return out


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all these, done when all are."""
    out: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()
    if not left:
        out.set_result([])

    def one_done(future: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            out.set_result(list(futures))

    for future in futures:
        future._when_done(one_done)
    return out


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all these, once all are there; raises the first error."""
    return [future.wait() for future in collect_all(futures).wait()]
