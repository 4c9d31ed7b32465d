"""Nested containers as trees: take the leaves out, put others in, map a function over them.

    leaves, spec = tree_flatten({"weight": w, "moments": [m, v]})
    same = tree_unflatten(leaves, spec)
    doubled = tree_map(lambda x: 2 * x, {"weight": w, "moments": [m, v]})

Tuples, lists, dicts, named tuples, OrderedDict, defaultdict and deque are nodes; everything else is a leaf, None too.
`register_pytree_node` adds a class. Structures are written as text by `treespec_dumps` (`text.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any

from claygrad.utils.pytree.nodes import (
    SUPPORTED_NODES,
    Context,
    DumpableContext,
    FlattenFn,
    FlattenFunc,
    FromDumpableContextFn,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    MappingKey,
    PyTree,
    SequenceKey,
    ToDumpableContextFn,
    UnflattenFn,
    UnflattenFunc,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    keystr,
    node_type,
    register_constant,
    register_dataclass,
    register_pytree_node,
    tree_is_leaf,
)
from claygrad.utils.pytree.spec import (
    LEAF,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)
from claygrad.utils.pytree.text import treespec_dumps, treespec_loads, treespec_pprint

__all__ = [
    "Context", "DumpableContext", "FlattenFn", "FlattenFunc", "FromDumpableContextFn", "GetAttrKey", "KeyEntry",
    "KeyPath", "LeafSpec", "MappingKey", "PyTree", "PyTreeSpec", "SequenceKey", "ToDumpableContextFn", "TreeSpec",
    "UnflattenFn", "UnflattenFunc", "arg_tree_leaves", "is_constant_class", "is_namedtuple", "is_namedtuple_class",
    "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr",
    "map_only", "register_constant", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only",
    "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves",
    "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
    "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps", "treespec_leaf", "treespec_loads",
    "treespec_pprint", "treespec_tuple",
]


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_iter(value)]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree of func(leaf, …) with the leaves at the same places in other trees of the same structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*group) for group in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests))])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call func for each leaf, for what it does; gives the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for group in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        func(*group)
    return tree


Chosen = type[Any] | tuple[type[Any], ...] | UnionType | Callable[[Any], bool]


def map_only(type_or_types_or_pred: Chosen, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is applied to what is of a type (or fulfils a condition), the rest is left as it is."""
    chosen: Callable[[Any], bool]
    if isinstance(type_or_types_or_pred, (type, tuple, UnionType)):
        kinds = type_or_types_or_pred
        chosen = lambda x: isinstance(x, kinds)
    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Chosen, /, func: Callable[[Any], Any], tree: Any,
                  is_leaf: IsLeaf = None) -> Any:
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Chosen, /, func: Callable[[Any], Any], tree: Any,
                   is_leaf: IsLeaf = None) -> Any:
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _with_paths(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn "
                         "argument to register_pytree_node.")
    for key, child in with_keys(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the keys that lead to it."""
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As tree_map, with func(path, leaf, …)."""
    paths, spec = tree_flatten_with_path(tree, is_leaf)
    groups = zip(*zip(*paths), *(spec.flatten_up_to(rest) for rest in rests)) if paths else ()
    return spec.unflatten([func(*group) for group in groups])


def broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of a tree whose leaves may stand for whole parts of the structure; None where it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    try:
        children = treespec.child_trees(tree)
    except ValueError:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children()):
        part = broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found
