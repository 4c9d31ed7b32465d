"""What a graph holds, read once: its operations and leaves, with shapes, memory, lines and modules. No node is kept."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from claygrad.autograd.graph import get_gradient_edge
from claygrad.core import Node, Tensor
from claygrad.core.graph.function import FunctionNode
from claygrad.core.graph.module_call import ModuleCall, call_of
from claygrad.core.graph.saved_values import saved_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Line = tuple[str, int, str, str]            # file, line, function, source

OPERATION, PARAMETER, INPUT, FAILED = "operation", "parameter", "input", "failed"


@dataclass
class Step:
    """One operation, or a leaf: a parameter or an input."""

    kind: str
    name: str                               # of the operation, in PyTorch's words; of the parameter, in the model's
    title: str = ""                         # the name of the node
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    outputs: int = 1
    memory: dict[int, int] = field(default_factory=dict)         # kept for backward: address -> bytes
    copied: int = 0                         # of it, copies that a write made
    line: Line | None = None
    call: Any = None                        # the call of the module that recorded it
    order: int = 0                          # by which it was recorded
    norm: float | None = None               # of the gradient
    inputs: list[int] = field(default_factory=list)
    note: str = ""                          # what went wrong
    result: str = ""                        # what the program calls it


class Steps:
    """The steps of a graph in the order in which they ran, each after those it takes from."""

    def __init__(self, roots: Iterable[Node]) -> None:
        self.found: list[Step] = []
        self.variables: dict[int, Tensor] = {}              # leaves by their step, while the graph is read
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._walk(roots)

    def _walk(self, roots: Iterable[Node]) -> None:
        waiting, seen = list(roots), set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            self._nodes.append(node)
            waiting.extend(before for before, _ in node.next_functions if before is not None)
        first_use: dict[Node, int] = {}                     # of the leaves
        for node in self._nodes:
            for before, _ in node.next_functions:
                if before is not None and is_leaf(before):
                    first_use[before] = min(first_use.get(before, 1 << 62), node._sequence_nr())

        def order(node: Node) -> tuple[int, int]:
            return (first_use.get(node, 0), 0) if is_leaf(node) else (node._sequence_nr(), 1)

        self._nodes.sort(key=order)
        self._numbers = {node: i for i, node in enumerate(self._nodes)}
        for node in self._nodes:
            step = self._read(node)
            step.order = order(node)[0]
            step.inputs = [self._numbers[before] for before, _ in node.next_functions if before is not None]
            self.found.append(step)

    def _read(self, node: Node) -> Step:
        line = Node.origin.__get__(node)                    # not node.origin: a context may have its own
        if is_leaf(node):
            variable = node.variable
            self.variables[len(self.found)] = variable
            return Step(INPUT, "", node.name(), tuple(variable.shape), dtype_text(variable.dtype), line=variable.origin,
                        norm=None if variable.grad is None else norm_of(variable.grad))
        step = Step(OPERATION, operation_name(node), node.name(), line=line, call=call_of(node))
        described = node._input_metadata
        if described:
            step.shape, step.dtype = tuple(described[0].shape), dtype_text(described[0].dtype)
            step.outputs = len(described)
        for address, size, copy in saved_memory(node):
            step.memory[address] = size
            step.copied += size if copy else 0
        return step

    def number_of(self, t: Tensor) -> int | None:
        """The step that made a tensor, or that it is; None if it has none here."""
        return self._numbers.get(get_gradient_edge(t).node) if t.requires_grad else None

    def number_of_node(self, node: Node) -> int | None:
        return self._numbers.get(node)

    def drop_nodes(self) -> None:
        """Keep the picture alone, not the graph and its memory."""
        leaves = {variable.untyped_storage().data_ptr() for variable in self.variables.values()}
        for step in self.found:                             # a parameter is there with or without the graph
            step.memory = {address: size for address, size in step.memory.items() if address not in leaves}
        self.variables, self._nodes, self._numbers = {}, [], {}

    def measure(self, tensors: Sequence[Tensor]) -> None:
        """Run backward once, adding to nobody's `.grad`, and note the norm of what arrives at each node."""
        import claygrad
        handles = []

        def watch(step: Step) -> Any:
            def note(grads: Sequence[Tensor | None]) -> None:
                norms = [norm_of(g) for g in grads if g is not None]
                step.norm = sum(x * x for x in norms if x is not None) ** 0.5 if norms else None
            return note

        for node, step in zip(self._nodes, self.found, strict=True):
            if step.kind == OPERATION:
                handles.append(node.register_prehook(watch(step)))
        numbers = list(self.variables)
        try:
            outputs = [t for t in tensors if t.requires_grad]
            grads = claygrad.autograd.grad(outputs, [self.variables[i] for i in numbers],
                                           [claygrad.ones_like(t) for t in outputs],
                                           retain_graph=True, allow_unused=True)
        finally:
            for handle in handles:
                handle.remove()
        for i, grad in zip(numbers, grads, strict=True):
            self.found[i].norm = None if grad is None else norm_of(grad)


def norm_of(grad: Tensor) -> float | None:
    import claygrad
    grad = grad.detach()
    if grad.layout is not claygrad.strided:
        grad = grad.coalesce().values() if grad.layout is claygrad.sparse_coo else grad.values()
    if grad.device.type == "meta":
        return None
    return float(claygrad.linalg.vector_norm(grad if grad.is_complex() else grad.double()))


def is_leaf(node: Node) -> bool:
    return node.name() == "torch::autograd::AccumulateGrad"


def operation_name(node: Node) -> str:
    """What a user calls the operation: `addmm` for AddmmBackward0, and a Function by its own name."""
    name = re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])
    return name if isinstance(node, FunctionNode) else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def dtype_text(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def chain_of(call: ModuleCall | None) -> list[Any]:
    """The calls around an operation, the outermost first."""
    chain = []
    while call is not None:
        chain.append(call)
        call = call.outer
    return chain[::-1]
