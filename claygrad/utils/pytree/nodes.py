"""The kinds of nodes of a tree, how each is taken apart and put together, and the keys that lead to a leaf."""
from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from claygrad.ops._returns import NamedResult

PyTree = Any
Context = Any
DumpableContext = Any
IsLeaf = Callable[[Any], bool] | None
FlattenFn = Callable[[Any], tuple[list[Any], Any]]
FlattenFunc = FlattenFn
UnflattenFn = Callable[[Iterable[Any], Any], Any]
UnflattenFunc = UnflattenFn
ToDumpableContextFn = Callable[[Any], Any]
FromDumpableContextFn = Callable[[Any], Any]


# Where a leaf is in its tree

@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute, of a named tuple or a dataclass."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey | Any
KeyPath = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it: `['a'][0].x`."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# Kinds of nodes

class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]] | None


class SerializeNodeDef(NamedTuple):
    """How the structure of a class of containers is written as text."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
        cls: type[Any], flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
        to_dumpable_context: ToDumpableContextFn | None = None,
        from_dumpable_context: FromDumpableContextFn | None = None,
        flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]] | None = None) -> None:
    """Let instances of a class be nodes of trees.

    flatten_fn(obj) gives (list of children, context), unflatten_fn(children, context) the object again.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def deregister_pytree_node(cls: type[Any]) -> None:
    """Undo `register_pytree_node`."""
    if cls in BUILTIN_TYPES:
        raise ValueError(f"Cannot deregister {cls}: it is a built-in node.")
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls: type[Any], *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None, serialized_type_name: str | None = None) -> None:
    """Let a dataclass be a node with its fields as children; without field_names, those that __init__ takes."""
    drop = drop_field_names or []
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it "
                             "is not a dataclass.")
        field_names = [one.name for one in dataclasses.fields(cls) if one.init and one.name not in drop]
    elif dataclasses.is_dataclass(cls):
        wanted = {one.name for one in dataclasses.fields(cls) if one.init and one.name not in drop}
        if set(field_names) != wanted:
            raise ValueError(f"Missing fields in `field_names`: {sorted(wanted - set(field_names))}; unexpected: "
                             f"{sorted(set(field_names) - wanted)}.")
    names = field_names

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        there = [(name, getattr(obj, name)) for name in names]
        given = [(name, value) for name, value in there if value is not None]
        none = [name for name, value in there if value is None]
        return [value for _, value in given], ([name for name, _ in given], none)

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        given, none = context
        return cls(**dict(zip(given, values)), **dict.fromkeys(none))

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
                         flatten_with_keys_fn=flatten_with_keys)


class ConstantNode(NamedTuple):
    """The context of a constant: the object itself."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Let instances of a class be nodes without leaves: they belong to the structure."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(cls, lambda obj: ([], ConstantNode(obj)), lambda _, context: context.value,
                         flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)))
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by collections.namedtuple or typing.NamedTuple, or inherits from such a class."""
    fields = getattr(cls, "_fields", None)
    return (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)
            and all(isinstance(name, str) for name in fields) and callable(getattr(cls, "_make", None)))


def is_namedtuple_instance(obj: object) -> bool:
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of CPython's structure sequences, such as time.struct_time."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (isinstance(cls, type) and cls.__bases__ == (tuple,)
            and all(isinstance(getattr(cls, name, None), int) for name in counts))


def is_structseq_instance(obj: object) -> bool:
    return is_structseq_class(type(obj))


def is_structseq(obj: object | type) -> bool:
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _with_places(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    return [(SequenceKey(i), child) for i, child in enumerate(obj)], None


def _with_names(obj: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    return [(GetAttrKey(name), child) for name, child in zip(type(obj)._fields, obj)], type(obj)


def _with_dict_keys(context: Callable[[Any], Any]) -> Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]]:
    return lambda obj: ([(MappingKey(key), child) for key, child in obj.items()], context(obj))


def _new_defaultdict(values: Iterable[Any], context: Any) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values))


def _dumped_factory(context: Any) -> Any:
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__,
            "dict_context": keys}


def _loaded_factory(dumped: Any) -> Any:
    import importlib
    factory = getattr(importlib.import_module(dumped["default_factory_module"]), dumped["default_factory_name"])
    return [factory, dumped["dict_context"]]


def _dumped_namedtuple(cls: Any) -> str:
    entry = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if entry is None or entry.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
                                  "serializated_type_name. Please register using `_register_namedtuple`.")
    return entry.serialized_type_name


register_pytree_node(tuple, lambda obj: (list(obj), None), lambda values, _: tuple(values),
                     serialized_type_name="builtins.tuple", flatten_with_keys_fn=_with_places)
register_pytree_node(list, lambda obj: (obj, None), lambda values, _: list(values),
                     serialized_type_name="builtins.list", flatten_with_keys_fn=_with_places)
register_pytree_node(dict, lambda obj: (list(obj.values()), list(obj)), lambda values, keys: dict(zip(keys, values)),
                     serialized_type_name="builtins.dict", flatten_with_keys_fn=_with_dict_keys(list))
register_pytree_node(namedtuple, lambda obj: (list(obj), type(obj)), lambda values, cls: cls(*values),  # type: ignore[arg-type]
                     serialized_type_name="collections.namedtuple", flatten_with_keys_fn=_with_names,
                     to_dumpable_context=_dumped_namedtuple,
                     from_dumpable_context=lambda name: SERIALIZED_TYPE_TO_PYTHON_TYPE[name])
register_pytree_node(OrderedDict, lambda obj: (list(obj.values()), list(obj)),
                     lambda values, keys: OrderedDict(zip(keys, values)),
                     serialized_type_name="collections.OrderedDict", flatten_with_keys_fn=_with_dict_keys(list))
register_pytree_node(defaultdict, lambda obj: (list(obj.values()), [obj.default_factory, list(obj)]), _new_defaultdict,
                     serialized_type_name="collections.defaultdict", to_dumpable_context=_dumped_factory,
                     from_dumpable_context=_loaded_factory,
                     flatten_with_keys_fn=_with_dict_keys(lambda obj: [obj.default_factory, list(obj)]))
register_pytree_node(deque, lambda obj: (list(obj), obj.maxlen), lambda values, most: deque(values, maxlen=most),
                     serialized_type_name="collections.deque",
                     flatten_with_keys_fn=lambda obj: (_with_places(obj)[0], obj.maxlen))
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)


def node_type(tree: Any) -> Any:
    """Under which key a tree's root is registered."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    if issubclass(cls, NamedResult):
        register_pytree_node(cls, lambda obj: (list(obj), None), lambda values, _: cls(values),
                             serialized_type_name=f"torch.return_types.{cls.__name__}",
                             flatten_with_keys_fn=_with_places)
    return namedtuple if is_namedtuple_class(cls) else cls


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES
