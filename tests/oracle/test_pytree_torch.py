"""Trees of containers against PyTorch's, on random trees."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, deque, namedtuple
from types import ModuleType
from typing import Any

import pytest
import torch.utils._pytree as theirs

from claygrad.utils import _pytree as ours

Point = namedtuple("Point", "x y")


def random_tree(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(9) if depth < 3 else 0
    if kind < 2:
        return rng.choice([1, None, "a", 2.5])
    children = [random_tree(rng, depth + 1) for _ in range(rng.randrange(4))]
    named = dict(zip("abcd", children))
    return {2: lambda: children, 3: lambda: tuple(children), 4: lambda: named, 5: lambda: OrderedDict(named),
            6: lambda: defaultdict(int, named), 7: lambda: deque(children, maxlen=rng.choice([None, 5])),
            8: lambda: Point(random_tree(rng, depth + 1), random_tree(rng, depth + 1))}[kind]()


def answer(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition(" at 0x")[0]


def told(lib: ModuleType, tree: Any, other: Any) -> list[Any]:
    """All that can be compared without comparing classes of the two libraries."""
    leaves, spec = lib.tree_flatten(tree)
    return [
        leaves, repr(spec), spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.type, spec.context,
        [lib.keystr(path) for path, _ in lib.tree_leaves_with_path(tree)],
        answer(lambda: lib.treespec_dumps(spec)), lib.treespec_pprint(spec),
        answer(lambda: lib.tree_map(lambda x, y: (x,), tree, other)),
        lib._broadcast_to_and_flatten(other, spec), spec == lib.tree_structure(other),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_random_trees(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        tree, other = random_tree(rng), random_tree(rng)
        assert told(ours, tree, other) == told(theirs, tree, other), tree


def test_public_names() -> None:
    assert set(theirs.__all__) <= set(dir(ours))
