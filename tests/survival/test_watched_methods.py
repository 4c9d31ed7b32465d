"""Compiled methods and attributes that stand-ins take the place of, and give it back: Note [Watched methods]."""

from __future__ import annotations

from tests.support import fresh

_START = """
    import claygrad as torch
    import claygrad.overrides as overrides

    class Log(overrides.TorchFunctionMode):
        def __init__(self):
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    def program(x):
        return (x.size(), x.size(0), x.stride(), x.dim(), x.numel(), x.shape, x.dtype, x.requires_grad, x.is_contiguous(),
                x.is_contiguous(memory_format=torch.contiguous_format), x.detach().item(), x.grad, x.data.item(), len(x), float(x))
"""


def _program(body):
    import textwrap
    return textwrap.dedent(_START) + textwrap.dedent(body)


def test_the_same_code_before_during_and_after(lib):
    out = fresh(lib, _program("""
        x = torch.ones(1)
        for _ in range(100):                # the interpreter specialises its calls
            first = program(x)
        size, shape = torch.Tensor.size, torch.Tensor.shape
        with Log() as log:
            for _ in range(100):
                assert program(x) == first
        assert {"size", "stride", "__get__", "is_contiguous", "item", "__len__", "__float__"} <= set(log.seen)
        count = len(log.seen)
        assert torch.Tensor.size is size and torch.Tensor.shape is shape
        for _ in range(100):
            assert program(x) == first
        assert len(log.seen) == count
        class S(torch.Tensor): pass
        s = torch.ones(1).as_subclass(S)
        for _ in range(100):
            program(s)
            assert program(x) == first
        print("done")
    """))
    assert out.strip() == "done"


def test_hostile_answers(lib):
    out = fresh(lib, _program("""
        class Lies(overrides.TorchFunctionMode):
            def __init__(self, answer):
                self.answer = answer

            def __torch_function__(self, func, types, args=(), kwargs=None):
                return self.answer() if callable(self.answer) else self.answer

        def fails():
            raise KeyError("mine")

        x = torch.ones(2, 2, requires_grad=True)
        uses = [len, bool, float, int, repr, str, list, hash, lambda t: t + 1, lambda t: t[0], lambda t: t.__setitem__(0, 1), lambda t: t.shape,
                lambda t: t.size(*[1] * 40), lambda t: t.size(**{str(i): i for i in range(40)}), lambda t: t.sum().backward(), lambda t: -t,
                lambda t: setattr(t, "grad", None), lambda t: delattr(t, "grad"), lambda t: t == 1, lambda t: range(3)[t], lambda t: 1 in t]
        for answer in (None, -1, 2**70, "text", object(), NotImplemented, (), fails, lambda: overrides.pop_mode()):
            for use in uses:
                try:
                    with Lies(answer):
                        use(x)
                except Exception:
                    pass
                while overrides._get_current_function_mode_stack():
                    overrides.pop_mode()
        assert x.shape == (2, 2) and x.sum().item() == 4
        print("done")
    """))
    assert out.strip() == "done"


def test_a_class_whose_method_changes_the_class(lib):
    out = fresh(lib, _program("""
        class S(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if "__torch_function__" in S.__dict__:
                    del S.__torch_function__
                return torch.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs)

        s = torch.ones(2).as_subclass(S)
        for use in (lambda: s + 1, lambda: s.size(), lambda: s.shape, lambda: torch.cat([s, s]), lambda: s[0], lambda: len(s)):
            use()
        torch.Tensor.__torch_function__ = 3
        for use in (lambda: s + 1, lambda: s.size(), lambda: torch.cat([s, s])):
            try:
                use()
            except TypeError:
                pass
        del torch.Tensor.__torch_function__
        assert type(s + 1) is torch.Tensor
        print("done")
    """))
    assert out.strip() == "done"
