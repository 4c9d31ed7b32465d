"""Kullback-Leibler divergences, found by the types of two distributions."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from claygrad.core import Tensor
    from claygrad.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable], Callable]:
    """A decorator: the function gives KL(p || q) for these types and those derived from them."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):          # any class will do: packages have families of their own
            raise TypeError(f"issubclass() arg 1 must be a class\n  {name} is {kind!r}, and must be a class")

    def decorator(fun: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return decorator


def _closest(pairs: list[tuple[type, type]]) -> tuple[type, type]:
    """The pair whose first type is most derived, and among those the one whose second type is."""
    best = pairs[0]
    for pair in pairs[1:]:
        if pair[0] is best[0]:
            if issubclass(pair[1], best[1]):
                best = pair
        elif issubclass(pair[0], best[0]):
            best = pair
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the closest pair; a pair that is closer in p than another must be in q, or it is ambiguous."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left = _closest(matches)
    right_q, right_p = _closest([(q, p) for p, q in matches])
    fun = _KL_REGISTRY[left]
    if fun is not _KL_REGISTRY[right_p, right_q]:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
             f"register_kl({left[0].__name__}, {right_q.__name__})", RuntimeWarning)
    return fun


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), the mean under p of log p(x) - log q(x), one for each member of the batch."""
    kinds = type(p), type(q)
    fun = _KL_MEMOIZE.get(kinds)
    if fun is None:
        fun = _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    if fun is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return fun(p, q)
