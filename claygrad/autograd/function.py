"""`torch.autograd.function`: custom differentiable operations."""

from claygrad.core.function import Function, FunctionNode, InplaceFunction, once_differentiable

FunctionCtx = BackwardCFunction = FunctionNode

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
