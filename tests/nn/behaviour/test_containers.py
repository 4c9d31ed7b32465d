"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.nn.behaviour.layers import names
from tests.support import raises, warns


def plus(lib, n):
    class Plus(lib.nn.Module):
        def forward(self, x):
            return x + n

        def extra_repr(self):
            return str(n)

    return Plus()


def row(lib, *numbers):
    return lib.nn.Sequential(*(plus(lib, n) for n in numbers))


def numbers(container):
    return [int(module.extra_repr()) for module in container]


def test_sequential_calls_one_after_the_other(lib):
    m = row(lib, 1, 2, 3)
    assert m(lib.zeros(1)).item() == 6
    assert len(m) == 3
    named = lib.nn.Sequential(OrderedDict(a=plus(lib, 1), b=plus(lib, 2)))
    assert names(named.named_children()) == ["a", "b"]
    assert named.a is named[0]


def test_sequential_by_index(lib):
    m = row(lib, 1, 2, 3)
    assert numbers(m[1:]) == [2, 3]
    assert type(m[1:]) is lib.nn.Sequential
    assert list(m[1:]._modules) == ["1", "2"]
    m[0] = plus(lib, 9)
    del m[1]
    assert numbers(m) == [9, 3]
    assert list(m._modules) == ["0", "1"]
    assert int(m.pop(-1).extra_repr()) == 3
    for index in (1, -2):
        with raises(lib, IndexError, f"index {index} is out of range"):
            m[index]


def test_sequential_grows(lib):
    m = row(lib, 1, 2).append(plus(lib, 3)).extend([plus(lib, 4)])
    m.insert(0, plus(lib, 0)).insert(-1, plus(lib, 8))
    assert numbers(m) == [0, 1, 2, 3, 8, 4]
    with raises(lib, IndexError, "Index out of range: 9"):
        m.insert(9, plus(lib, 0))
    with pytest.raises(AssertionError, match="module should be of type"):
        m.insert(0, 3)


def test_sequential_arithmetic(lib):
    m = row(lib, 1, 2)
    assert numbers(m + row(lib, 3)) == [1, 2, 3]
    assert numbers(m * 2) == numbers(2 * m) == [1, 2, 1, 2]
    both = m * 2
    assert both[0] is both[2]
    m *= 3
    assert numbers(m) == [1, 2] * 3
    m += row(lib, 5)
    assert numbers(m)[-1] == 5
    assert len(m) == 7
    with raises(lib, ValueError, "add operator supports only objects of Sequential class, but <class 'int'> is given."):
        m + 3
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0 for"):
        m * 0
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*"):
        m * 1.5


def test_module_list(lib):
    m = lib.nn.ModuleList([plus(lib, 1), plus(lib, 2)])
    m.append(plus(lib, 3)).extend([plus(lib, 4)])
    m.insert(1, plus(lib, 7))
    m += [plus(lib, 5)]
    assert numbers(m) == [1, 7, 2, 3, 4, 5]
    assert numbers(m[::2]) == [1, 2, 4]
    assert numbers(m + [plus(lib, 0)])[-1] == 0
    del m[1:3]
    assert numbers(m) == [1, 3, 4, 5]
    assert int(m.pop(0).extra_repr()) == 1
    assert int(m[-1].extra_repr()) == 5
    m[0] = plus(lib, 6)
    assert numbers(m) == [6, 4, 5]
    assert list(m._modules) == ["0", "1", "2"]
    with raises(lib, TypeError, "ModuleList.extend should be called with an iterable, but got int"):
        m.extend(3)
    with raises(lib, IndexError, "index 3 is out of range"):
        m[3]
    with raises(lib, NotImplementedError, 'Module [ModuleList] is missing the required "forward" function'):
        m(1)


def test_module_list_tells_equal_neighbours_once(lib):
    m = lib.nn.ModuleList([plus(lib, 1), plus(lib, 1), plus(lib, 2), row(lib, 3), row(lib, 3)])
    assert repr(m) == ("ModuleList(\n  (0-1): 2 x Plus(1)\n  (2): Plus(2)\n  (3-4): 2 x Sequential(\n    (0): Plus(3)\n"
                       "  )\n)")
    assert repr(lib.nn.ModuleList()) == "ModuleList()"


def test_module_dict(lib):
    m = lib.nn.ModuleDict({"b": plus(lib, 1)})
    m.update([("a", plus(lib, 2))])
    m.update(OrderedDict(c=plus(lib, 3)))
    m["d"] = plus(lib, 4)
    assert list(m) == list(m.keys()) == ["b", "a", "c", "d"]
    assert "a" in m
    assert len(m) == 4
    assert int(m.pop("a").extra_repr()) == 2
    assert "a" not in m
    del m["b"]
    assert [key for key, _ in m.items()] == ["c", "d"]
    assert numbers(m.values()) == [3, 4]
    m.clear()
    assert len(m) == 0
    for given, kind, text in (
        (3, TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        ([3], TypeError, "ModuleDict update sequence element #0 should be Iterable; isint"),
        ([(1,)], ValueError, "ModuleDict update sequence element #0 has length 1; 2 is required"),
    ):
        with raises(lib, kind, text):
            m.update(given)
    with raises(lib, KeyError, "\"attribute 'keys' already exists\""):
        m["keys"] = plus(lib, 1)


def test_parameter_list(lib):
    m = lib.nn.ParameterList([lib.ones(2), 3])
    m.append(lib.nn.Parameter(lib.ones(1, 2))).extend([lib.tensor(1.0)])
    m += [4]
    assert names(m.named_parameters()) == ["0", "2", "3"]
    assert len(m) == 5
    assert m[1] == 3
    assert m[-1] == 4
    assert repr(m).splitlines()[1:3] == [
        f"    (0): Parameter containing: [{lib.float32} of size 2]", "    (1): Object of type: int"]
    assert [getattr(v, "shape", v) for v in m[2:4]] == [(1, 2), ()]
    m[0] = lib.zeros(3)
    assert m[0].shape == (3,)
    assert type(m[0]) is lib.nn.Parameter
    with raises(lib, RuntimeError, "ParameterList should not be called."):
        m()
    with raises(lib, IndexError, "index 5 is out of range"):
        m[5]
    with raises(lib, TypeError, "ParameterList.extend should be called with an iterable, but got Tensor"):
        m.extend(lib.ones(2))


def test_parameter_dict(lib):
    m = lib.nn.ParameterDict({"b": lib.ones(2, 2), "a": 4})
    assert list(m) == ["a", "b"]
    assert list(lib.nn.ParameterDict(OrderedDict(z=1, y=2))) == ["z", "y"]
    assert repr(m) == ("ParameterDict(\n    (a): Object of type: int\n    (b): Parameter containing: "
                       f"[{lib.typename(lib.ones(1))} of size 2x2]\n)")
    assert m.get("nope") is None
    assert m.get("nope", 5) == 5
    assert m.setdefault("c", lib.ones(1)) is m["c"]
    assert list(reversed(m)) == ["c", "b", "a"]
    assert m.popitem()[0] == "c"
    assert m.pop("a") == 4
    assert len(m) == 1
    assert m.copy()["b"] is m["b"]
    assert list(m.fromkeys(["x", "y"], 1).items()) == [("x", 1), ("y", 1)]
    other = lib.nn.ParameterDict({"b": lib.zeros(1), "d": lib.zeros(2)})
    assert list(m | other) == ["b", "d"]
    assert (m | other)["b"] is other["b"]
    assert (other | m)["b"] is m["b"]
    m |= other
    assert m["b"] is other["b"]
    assert list(m.values())[1].shape == (2,)
    del m["b"]
    assert list(m.keys()) == ["d"]
    assert "b" not in m
    m.clear()
    assert len(m) == 0
    assert names(m.named_parameters()) == []
    with raises(lib, RuntimeError, "ParameterDict should not be called."):
        m(1)
    with raises(lib, TypeError, "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                "'int'). Open an issue on github if you need non-string keys."):
        m[3]


def test_container_is_deprecated(lib):
    with warns(lib, "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
               "Subclass that instead.", FutureWarning):
        assert names(lib.nn.Container(a=plus(lib, 1)).named_children()) == ["a"]


@pytest.mark.parametrize("kind", ["list", "dict", "layer"])
def test_a_replica_has_no_parameters_of_its_own_and_takes_tensors_in_their_place(lib, kind):
    weights = {"0": lib.ones(2), "1": lib.zeros(3)}
    if kind == "layer":
        module = lib.nn.Linear(2, 3)
    else:
        module = lib.nn.ParameterList(weights.values()) if kind == "list" else lib.nn.ParameterDict(weights)
    replica = module._replicate_for_data_parallel()
    assert type(replica) is type(module)
    assert list(replica.parameters()) == []
    assert len(list(module.parameters())) == 2
    for name, p in module.named_parameters():
        setattr(replica, name, p.view_as(p))
        assert getattr(replica, name)._base is p
    replica.register_buffer("more", lib.ones(1))
    assert names(module.named_buffers()) == []
    if kind == "layer":
        replica(lib.ones(1, 2)).sum().backward()
        assert module.weight.grad is not None
