"""`torch.autograd.function`: custom differentiable operations."""

from claygrad.core.graph.function import Function, FunctionNode, InplaceFunction, once_differentiable

FunctionCtx = BackwardCFunction = FunctionNode

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
