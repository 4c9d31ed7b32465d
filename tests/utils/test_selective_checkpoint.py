"""Selective checkpoints: what the policy keeps is not computed again."""
from __future__ import annotations

import functools

import pytest

import claygrad as torch
from claygrad.utils._python_dispatch import TorchDispatchMode
from claygrad.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def function(x):
    return x.exp().mm(x).sigmoid().tanh()


def expected(x):
    y = x.detach().requires_grad_()
    function(y).sum().backward()
    return y.grad


@pytest.mark.parametrize("policy", [[aten.mm.default], lambda ctx, op, *args, **kwargs: op is aten.mm.default,
                                    lambda ctx, op, *args, **kwargs: CheckpointPolicy.PREFER_SAVE if op is aten.mm.default
                                    else CheckpointPolicy.MUST_RECOMPUTE])
def test_what_is_kept_is_not_computed_again(policy):
    x = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    with Count() as count:
        out = checkpoint(function, x, use_reentrant=False, context_fn=contexts).sum()
        del count.seen[:]
        out.backward()
    again = [func for func in count.seen if func in (aten.exp.default, aten.sigmoid.default)]
    assert again == [aten.exp.default, aten.sigmoid.default]
    assert count.seen.count(aten.mm.default) == 2           # those of backward
    assert torch.allclose(x.grad, expected(x))


def test_the_policy_sees_operator_arguments_and_result():
    told = []

    def policy(ctx, op, *args, **kwargs):
        told.append((op, ctx.is_recompute, ctx.op_output.shape, args[0].shape))
        return CheckpointPolicy.MUST_SAVE

    x = torch.rand(2, 2, requires_grad=True)
    checkpoint(function, x, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, policy))
    assert [op for op, *_ in told] == [aten.exp.default, aten.mm.default, aten.sigmoid.default, aten.tanh.default]
    assert all(rest == [False, (2, 2), (2, 2)] for _, *rest in told)


def test_backward_can_run_only_once():
    x = torch.rand(2, 2, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False, context_fn=functools.partial(
        create_selective_checkpoint_contexts, lambda *args, **kwargs: True)).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward(retain_graph=True)


@pytest.mark.parametrize("mutable", [False, True])
def test_a_kept_result_that_is_written_later(mutable):
    def writes(x):
        y = x.sin()
        z = y.exp()
        y.mul_(0)
        return z.exp()

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [aten.sin.default], allow_cache_entry_mutation=mutable)
    checkpoint(writes, x, use_reentrant=False, context_fn=contexts).sum().backward()
    y = x.detach().requires_grad_()
    writes(y).sum().backward()
    assert torch.allclose(x.grad, y.grad) is not mutable


def test_refusals():
    with pytest.raises(ValueError, match=r"Expected op in `op_list` to be an OpOverload but got: aten.mm"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(aten.mm.default._overloadname)


def test_nested():
    inner = functools.partial(create_selective_checkpoint_contexts, [aten.mm.default])
    x = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    outer = lambda x: checkpoint(function, x.tanh(), use_reentrant=False, context_fn=inner)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    y = x.detach().requires_grad_()
    function(y.tanh()).sum().backward()
    assert torch.allclose(x.grad, y.grad)
