"""`torch.utils._pytree`: `claygrad.utils.pytree` with the private names that packages ask for."""
from __future__ import annotations

from typing import Any

from claygrad.utils import pytree
from claygrad.utils.pytree import *  # noqa: F403
from claygrad.utils.pytree import nodes

__all__ = list(pytree.__all__)

BUILTIN_TYPES = nodes.BUILTIN_TYPES
CONSTANT_NODES = nodes.CONSTANT_NODES
STANDARD_DICT_TYPES = nodes.STANDARD_DICT_TYPES
SERIALIZED_TYPE_TO_PYTHON_TYPE = nodes.SERIALIZED_TYPE_TO_PYTHON_TYPE
SUPPORTED_NODES = nodes.SUPPORTED_NODES
SUPPORTED_SERIALIZED_TYPES = nodes.SUPPORTED_SERIALIZED_TYPES
NodeDef = nodes.NodeDef
ConstantNode = nodes.ConstantNode
_SerializeNodeDef = nodes.SerializeNodeDef
_broadcast_to_and_flatten = pytree.broadcast_to_and_flatten
_deregister_pytree_node = nodes.deregister_pytree_node
_get_node_type = nodes.node_type
_is_leaf = pytree.tree_is_leaf
_is_namedtuple_instance = nodes.is_namedtuple_instance
_private_register_pytree_node = nodes.register_pytree_node
_LEAF_SPEC = pytree.treespec_leaf()


def _register_pytree_node(cls: type[Any], flatten_fn: Any, unflatten_fn: Any, to_str_fn: Any = None,
                          maybe_from_str_fn: Any = None, **named: Any) -> None:
    """The former name of `register_pytree_node`; PyTorch too no longer uses the two arguments for strings."""
    nodes.register_pytree_node(cls, flatten_fn, unflatten_fn, **named)


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Name a class of named tuples in the text of structures."""
    SUPPORTED_SERIALIZED_TYPES[cls] = nodes.SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_dict_flatten, _dict_unflatten = nodes.SUPPORTED_NODES[dict][1:3]
_list_flatten, _list_unflatten = nodes.SUPPORTED_NODES[list][1:3]
_tuple_flatten, _tuple_unflatten = nodes.SUPPORTED_NODES[tuple][1:3]
_namedtuple_flatten, _namedtuple_unflatten = nodes.SUPPORTED_NODES[nodes.namedtuple][1:3]
