"""The structure of a tree without its leaves."""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from claygrad.utils.pytree.nodes import STANDARD_DICT_TYPES, SUPPORTED_NODES, node_type


class TreeSpec:
    """The structure of a tree without its leaves. `unflatten` puts leaves in."""

    __slots__ = ("_children", "_context", "_type", "num_children", "num_leaves", "num_nodes")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec] = ()) -> None:
        children = list(children_specs)
        self._type, self._context, self._children = type, context, children
        self.num_children = len(children)
        self.num_leaves: int = sum(child.num_leaves for child in children) if type is not None else 1
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children)

    type = property(lambda self: self._type)
    context = property(lambda self: self._context)
    children_specs = property(lambda self: self._children)

    def is_leaf(self) -> bool:
        return self._type is None

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (self._type is other._type and self._context == other._context
                                 and self._children == other._children)

    def __hash__(self) -> int:
        context = self._context
        if self._type in STANDARD_DICT_TYPES:
            context = tuple(context[1] if self._type is defaultdict else context)
        return hash((self._type, context if isinstance(context, Hashable) else None, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        head = f"TreeSpec({self._type.__name__}, {self._context}, ["
        inner = ",\n".join(" " * (indent + 2) * (i > 0) + child.__repr__(indent + 2)
                           for i, child in enumerate(self._children))
        return f"{head}{inner}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                             f"pytree that holds {self.num_leaves} items ({self}).")
        return self._fill(iter(leaves))

    def _fill(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        values = [child._fill(leaves) for child in self._children]
        return SUPPORTED_NODES[self._type].unflatten_fn(values, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree of this structure where this one has leaves."""
        found: list[Any] = []
        self._take(tree, found)
        return found

    def _take(self, tree: Any, found: list[Any]) -> None:
        if self.is_leaf():
            found.append(tree)
            return
        for spec, child in zip(self._children, self.child_trees(tree)):
            spec._take(child, found)

    def child_trees(self, tree: Any) -> list[Any]:
        """The children of a tree whose root is as this structure's; a ValueError says how it differs."""
        kind = node_type(tree)
        both_dicts = self._type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not self._type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self._type!r}, but got {kind!r}.")
        if self._type in STANDARD_DICT_TYPES:
            keys = self._context[1] if self._type is defaultdict else self._context
            if len(keys) != len(tree):
                raise ValueError(f"Node arity mismatch; expected {len(keys)}, but got {len(tree)}.")
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                raise ValueError("Node keys mismatch" + (f"; missing key(s): {missing}" if missing else "")
                                 + (f"; extra key(s): {extra}" if extra else "") + ".")
            return [tree[key] for key in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if context != self._context and self._type is not deque:
            raise ValueError(f"Node context mismatch for custom node type {self._type!r}.")
        return list(children)


PyTreeSpec = TreeSpec
LEAF = TreeSpec(None, None, [])


class _LeafSpecMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The structure of a leaf. Calling it gives the one such structure."""

    __slots__ = ()

    def __new__(cls) -> Any:
        return LEAF


def treespec_leaf() -> TreeSpec:
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /,
                  **kwargs: TreeSpec) -> TreeSpec:
    given = dict(mapping, **kwargs)
    return TreeSpec(dict, list(given), list(given.values()))
