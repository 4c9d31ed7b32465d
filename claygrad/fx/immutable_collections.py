"""Lists and dicts in the arguments of nodes, which cannot be changed: a change would go unnoticed by the graph."""
from __future__ import annotations

from typing import Any, NoReturn

from claygrad._lazy import lazy
from claygrad.utils import pytree

_TEXT = ("Attempted to mutate {}. If you are attempting to modify the kwargs or args of a torch.fx.Node object, "
         "instead "
         "create a new copy of it and assign the copy to the node:\n    new_args = ...  # copy and mutate args\n"
         "    node.args = new_args\n")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(_TEXT.format(type(self).__name__))


class immutable_list(list):
    """A list that cannot be changed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __hash__(self) -> int:              # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:              # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


pytree.register_pytree_node(immutable_list, lambda one: (list(one), None), lambda values, _: immutable_list(values))
pytree.register_pytree_node(immutable_dict, lambda one: (list(one.values()), list(one)),
                            lambda values, keys: immutable_dict(zip(keys, values)))

__getattr__ = lazy(__name__)
