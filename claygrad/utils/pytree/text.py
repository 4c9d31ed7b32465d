"""Structures of trees as text: JSON that PyTorch reads and writes too, and a picture for people."""
from __future__ import annotations

import enum
import json
from typing import Any

from claygrad.utils.pytree import nodes
from claygrad.utils.pytree.spec import TreeSpec, treespec_leaf

PROTOCOL = 1


class _Encoder(json.JSONEncoder):
    def default(self, obj: object) -> Any:
        if isinstance(obj, enum.Enum):
            return {"__enum__": True, "fqn": f"{type(obj).__module__}:{type(obj).__qualname__}", "name": obj.name}
        return super().default(obj)


def _decoded(obj: dict[str, Any]) -> Any:
    if "__enum__" not in obj:
        return obj
    import importlib
    module, _, name = obj["fqn"].partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found[obj["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((PROTOCOL, _schema(treespec)), cls=_Encoder)


def _schema(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    entry = nodes.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if entry is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if entry.serialized_type_name == nodes.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your "
                                  "_register_pytree_node call with a `serialized_type_name` kwarg.")
    if entry.to_dumpable_context is not None:
        context = entry.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=_Encoder)
        except TypeError as wrong:
            raise TypeError("Unable to serialize context. Please make the context json dump-able, or register a custom "
                            "serializer using _register_pytree_node.") from wrong
    return {"type": entry.serialized_type_name, "context": context,
            "children_spec": [_schema(child) for child in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, schema = json.loads(serialized, object_hook=_decoded)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _structure(schema)


def _structure(schema: dict[str, Any]) -> TreeSpec:
    if schema["type"] is None:
        return treespec_leaf()
    if schema["type"] not in nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    kind = nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE[schema["type"]]
    entry = nodes.SUPPORTED_SERIALIZED_TYPES[kind]
    if entry.from_dumpable_context is not None:
        context = entry.from_dumpable_context(schema["context"])
    else:
        context = json.loads(schema["context"], object_hook=_decoded)
    return TreeSpec(kind, context, [_structure(child) for child in schema["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with a star for each leaf."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))
