"""Trees of containers: flatten, unflatten, map, registered classes, paths, text."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import claygrad
from claygrad.utils import pytree
from claygrad.utils.pytree.nodes import SUPPORTED_NODES, deregister_pytree_node

Point = namedtuple("Point", "x y")
TREES = [1, None, [], [1, [2, 3]], (1, (2,)), {"b": 1, "a": [2]}, OrderedDict(z=1, y=2), defaultdict(list, a=[1]),
         deque([1, 2], maxlen=3), Point(1, [2]), [Point(1, None), {"k": (3,)}]]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_round_trip(tree: object) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec.num_leaves == len(leaves) == len(pytree.tree_leaves(tree))
    assert pytree.tree_structure(tree) == spec
    assert hash(spec) == hash(pytree.tree_structure(tree))
    assert [pytree.key_get(tree, path) for path, _ in pytree.tree_leaves_with_path(tree)] == leaves


def test_named_results_of_operations_are_nodes() -> None:
    found = claygrad.tensor([[1.0, 3.0], [2.0, 0.0]]).max(0)
    doubled = pytree.tree_map(lambda t: t * 2, found)
    assert type(doubled) is type(found)
    assert doubled.values.tolist() == [4.0, 6.0]


def test_map_over_several_trees() -> None:
    assert pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"b": [3], "a": 4}) == {"a": 5, "b": [5]}
    assert pytree.tree_map_with_path(lambda path, x: pytree.keystr(path) + str(x), {"a": [5]}) == {"a": ["['a'][0]5"]}


@pytest.mark.parametrize(("tree", "other", "text"), [
    ([1, 2], [1], "Node arity mismatch; expected 2, but got 1."),
    ([1], (1,), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
    ({"a": 1}, {"b": 1}, "Node keys mismatch; missing key(s): {'a'}; extra key(s): {'b'}."),
])
def test_trees_of_another_structure_are_refused(tree: object, other: object, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        pytree.tree_map(lambda x, y: x, tree, other)
    assert str(caught.value) == text


def test_wrong_number_of_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_choosing_by_type_or_condition() -> None:
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_map_only((int, float), lambda x: -x, [1, "a", 2.0]) == [-1, "a", -2.0]
    assert pytree.tree_map_only(lambda x: x == "a", str.upper, [1, "a"]) == [1, "A"]
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "a"])
    assert not pytree.tree_any(lambda x: x == 3, [1, [2]])


def test_is_leaf_stops_above() -> None:
    leaves, _ = pytree.tree_flatten([(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple))
    assert leaves == [(1, 2), 3]


def test_registered_class() -> None:
    class Pair:
        def __init__(self, a: object, b: object) -> None:
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda values, _: Pair(*values))
    try:
        found = pytree.tree_map(lambda x: x + 1, [Pair(1, (2,))])[0]
        assert (found.a, found.b) == (2, (3,))
        with pytest.raises(ValueError, match="is already registered as pytree node"):
            pytree.register_pytree_node(Pair, lambda p: ([], None), lambda values, _: None)
        with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
            pytree.tree_leaves_with_path(Pair(1, 2))
    finally:
        deregister_pytree_node(Pair)
    assert Pair not in SUPPORTED_NODES


def test_registered_dataclass() -> None:
    @dataclasses.dataclass
    class State:
        weight: object
        bias: object = None

    pytree.register_dataclass(State)
    try:
        assert pytree.tree_map(lambda x: x * 2, State(1)) == State(2)
        assert pytree.keystr(pytree.tree_leaves_with_path(State(1, 2))[1][0]) == ".bias"
    finally:
        deregister_pytree_node(State)


@pytest.mark.parametrize("tree", [tree for tree in TREES if "Point" not in repr(tree)], ids=repr)
def test_structures_as_text(tree: object) -> None:
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_leaf_structure_is_one() -> None:
    assert pytree.LeafSpec() is pytree.treespec_leaf()
    assert isinstance(pytree.tree_structure(3), pytree.LeafSpec)
    assert not isinstance(pytree.tree_structure([3]), pytree.LeafSpec)
    assert repr(pytree.treespec_tuple([pytree.treespec_leaf()])) == "TreeSpec(tuple, None, [*])"
