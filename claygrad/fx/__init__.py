"""`torch.fx`: a module's calls as a graph that can be read, changed and run again as Python."""
from __future__ import annotations

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.fx import immutable_collections
from claygrad.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from claygrad.fx.graph import CodeGen, Graph
from claygrad.fx.graph_module import GraphModule
from claygrad.fx.interpreter import Interpreter, Transformer
from claygrad.fx.node import Node, has_side_effect, map_arg
from claygrad.fx.proxy import Proxy
from claygrad.fx.subgraph_rewriter import replace_pattern

__all__ = [
           "PH",
           "CodeGen",
           "Graph",
           "GraphModule",
           "Interpreter",
           "Node",
           "Proxy",
           "ProxyableClassMeta",
           "Tracer",
           "Transformer",
           "has_side_effect",
           "immutable_collections",
           "map_arg",
           "replace_pattern",
           "symbolic_trace",
           "wrap",
]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
