"""`autograd.backward` and `autograd.grad` of subclasses and in function modes: what is asked, and with which arguments."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402

CALLS = {
    "backward of a tensor": "t.autograd.backward(s(), t.ones(2))",
    "backward of several": "t.autograd.backward([s(), x * 3], (t.ones(2), t.ones(2)), retain_graph=True)",
    "backward into inputs": "t.autograd.backward(x * 2, t.ones(2), inputs=[x.detach().as_subclass(S).requires_grad_(), x])",
    "a gradient alone is not asked": "t.autograd.backward(x * 2, t.ones(2).as_subclass(S))",
    "no inputs": "t.autograd.backward(s(), t.ones(2), inputs=[])",
    "grad of a tensor": "t.autograd.grad(s(), x, t.ones(2))",
    "grad for several": "t.autograd.grad(s().sum(), [x, x], allow_unused=True, create_graph=True)",
    "grad for a subclass": "t.autograd.grad((y := x.as_subclass(S)) * 2, y, t.ones(2))",
}


def asked(t, call, mode):
    """What the override is told: the function, the shapes of the arguments, and the gradient in the end."""
    notes = []

    def noted(func, args, kwargs):
        if func in (t.autograd.backward, t.autograd.grad):
            notes.append((func.__name__, [type(a).__name__ + str(len(a)) for a in args],
                          {k: v if v is None or isinstance(v, bool) else type(v).__name__ for k, v in kwargs.items()}))

    class S(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            noted(func, args, kwargs or {})
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            noted(func, args, kwargs or {})
            return func(*args, **(kwargs or {}))

    x = t.tensor([1.0, 2.0], requires_grad=True)
    scope = {"t": t, "x": x, "S": S, "s": lambda: (x * 2).as_subclass(S)}
    try:
        if mode:
            with Mode():
                exec(call, scope)
        else:
            exec(call, scope)
    except RuntimeError as error:
        notes.append(str(error).splitlines()[0])
    notes.append(None if x.grad is None else x.grad.tolist())
    return notes


@pytest.mark.parametrize("mode", [False, True], ids=["subclass", "mode"])
@pytest.mark.parametrize("name", CALLS)
def test_overrides_are_asked_as_in_torch(name, mode):
    assert asked(claygrad, CALLS[name], mode) == asked(torch, CALLS[name], mode)


@pytest.mark.parametrize("t", [claygrad, torch], ids=["claygrad", "torch"])
def test_the_answer_of_an_override_is_returned(t):
    class Answering(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "answered" if func in (t.autograd.backward, t.autograd.grad) else super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, requires_grad=True)
    s = (x * 2).as_subclass(Answering)
    assert t.autograd.grad(s, x) == "answered"
    assert t.autograd.backward(s) == "answered"
    assert x.grad is None
