"""What the programs are made of: tensors in every dtype and layout, and objects that lie, raise or change things when asked.

Programs see these names beside `torch` (which is claygrad), `nn`, `F` and `np`.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import pickle
import threading
import zipfile

import numpy as np
from claygrad.utils._pytree import tree_leaves, tree_map

import claygrad as torch
from claygrad import nn  # noqa: F401
from claygrad.autograd import forward_ad as fwAD
from claygrad.nn import functional as F  # noqa: F401
from claygrad.utils._python_dispatch import TorchDispatchMode

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
          "complex128")


# Tensors

def t(*shape, dtype="float32"):
    """Small numbers of both signs; the same for the same shape."""
    count = int(np.prod(shape, dtype=object)) if shape else 1
    numbers = (np.arange(count) * 7919 % 23 - 9) / 4
    made = torch.tensor(numbers.reshape(shape)).to(getattr(torch, dtype))
    return made + made * 1j if dtype.startswith("complex") else made


def ints(*shape, high=3, dtype="int64"):
    count = int(np.prod(shape, dtype=object)) if shape else 1
    return torch.tensor((np.arange(count) * 7919 % 23 % max(high, 1)).reshape(shape)).to(getattr(torch, dtype))


def leaf(*shape, dtype="float32"):
    return t(*shape, dtype=dtype).requires_grad_()


def inner(*shape, dtype="float32"):
    """Not a leaf: it has a history."""
    return leaf(*shape, dtype=dtype) * 1


def turned(x):
    """The same values with the axes in reverse order in memory."""
    return x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))


def spaced(x):
    """Every other element of a larger one."""
    return torch.stack([x, x], -1)[..., 0]


def behind(x):
    """Does not begin where its storage begins."""
    return torch.cat([x.reshape(-1)[:0], torch.zeros(3, dtype=x.dtype), x.reshape(-1)])[3:].view(x.shape)


def wide(x, n=2**12):
    """Many times the same memory. Not too many: to sum 2**40 elements takes its time, and rightly."""
    return x.unsqueeze(0).expand(n, *x.shape)


def stretched(x):
    """All elements of one row are the same memory."""
    return x[..., :1].expand(x.shape) if x.dim() else x


def lapped(x):
    """Rows that overlap."""
    return x.reshape(-1).as_strided((max(x.numel() // 2, 1), 2), (1, 1)) if x.numel() > 1 else x


def backed(x):
    """A view of a larger base."""
    return torch.stack([x, x])[1]


def emptied(x):
    """Its storage was resized away beneath it."""
    x = x.detach().clone()
    x.untyped_storage().resize_(0)
    return x


def swapped(x):
    """Reads the storage of another tensor, a shorter one."""
    x = x.detach().clone()
    with contextlib.suppress(Exception):
        x.data = t(1, dtype=str(x.dtype).rpartition(".")[2])
    return x


def deep(dtype="float32", n=64):
    return torch.ones((1,) * n, dtype=getattr(torch, dtype))


def none(*shape, dtype="float32"):
    return torch.empty(*(shape or (0,)), dtype=getattr(torch, dtype))


def meta(*shape, dtype="float32"):
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def full(value, *shape, dtype="float32"):
    return torch.full(shape, value, dtype=getattr(torch, dtype))


def inferred(*shape):
    with torch.inference_mode():
        return t(*shape)


class Sub(torch.Tensor):
    """A subclass without anything of its own."""


def sub(x):
    return x.as_subclass(Sub)


class Keen(torch.Tensor):
    """A subclass that answers every operation with something else."""

    answer = "nonsense"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.answer


def keen(x):
    return x.as_subclass(Keen)


class Wrap(torch.Tensor):
    """Holds another tensor and has no memory: every operation is asked of the one that it holds."""

    @staticmethod
    def __new__(cls, x, *_args):
        made = torch.Tensor._make_wrapper_subclass(cls, x.size(), strides=x.stride(), dtype=x.dtype, requires_grad=x.requires_grad)
        made.held = x.detach()
        return made

    def __init__(self, x, answer=None, effect="none"):
        self.answer, self.effect = answer, effect

    def __repr__(self):
        return "Wrap"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        for x in tree_leaves((args, kwargs)):
            if isinstance(x, cls):
                EFFECTS[x.effect]()
                if x.answer is not None:
                    return x.answer
        bare = tree_map(lambda x: x.held if isinstance(x, cls) else x, (args, kwargs or {}))
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*bare[0], **bare[1]))


def wrapper(x, answer=None, effect="none"):
    return Wrap(x, answer, effect)


class Hollow(torch.Tensor):
    """Has no memory and answers nothing."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def hollow(x):
    return torch.Tensor._make_wrapper_subclass(Hollow, x.size(), strides=x.stride(), dtype=x.dtype, requires_grad=x.requires_grad)


class Mode(TorchDispatchMode):
    """Answers every operation with `answer`, or as it is where that is None, after doing `effect`."""

    def __init__(self, answer=None, effect="none"):
        super().__init__()
        self.answer, self.effect = answer, effect

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        EFFECTS[self.effect]()
        return self.answer if self.answer is not None else func(*args, **(kwargs or {}))


class FunctionMode(torch.overrides.TorchFunctionMode):
    def __init__(self, answer=None, effect="none"):
        super().__init__()
        self.answer, self.effect = answer, effect

    def __torch_function__(self, func, types, args=(), kwargs=None):
        EFFECTS[self.effect]()
        return self.answer if self.answer is not None else func(*args, **(kwargs or {}))


def within(context, function, *more):
    """The function's result inside one context, or several."""
    with contextlib.ExitStack() as stack:
        for entered in (context, *more):
            stack.enter_context(entered)
        return function()


def dual(x, tangent=None, level=None):
    return fwAD.make_dual(x, t(*x.shape) if tangent is None else tangent, level=level)


def forward(function, x, tangent=None):
    """The value and the tangent of a function."""
    with fwAD.dual_level():
        return fwAD.unpack_dual(function(dual(x, tangent)))


def coo(rows=2, columns=3, indices=None, values=None):
    indices = torch.tensor([[0, 1, 1], [2, 0, 2]]) if indices is None else indices
    return torch.sparse_coo_tensor(indices, t(3) if values is None else values, (rows, columns))


def csr(pointers=None, columns=None, values=None, size=(2, 3)):
    return torch.sparse_csr_tensor(torch.tensor([0, 1, 3]) if pointers is None else pointers,
                                   torch.tensor([2, 0, 2]) if columns is None else columns, t(3) if values is None else values, size)


def traced(module):
    return torch.fx.symbolic_trace(module)


def changed(thing, at=0, value=None, old=b"", new=b""):
    """Loaded from a file whose pickle has some bytes changed while checksums still fit."""
    read, made = zipfile.ZipFile(io.BytesIO(saved(thing))), io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for name in read.namelist():
            data = read.read(name)
            if name.endswith("data.pkl"):
                data = spoilt(data, at, value) if not old else data.replace(old, new)
            out.writestr(name, data)
    return load(made.getvalue(), weights_only=True)


POOL = [t(2, 3), t(3), t(6), leaf(2, 3), ints(3), t(2, 2)]


def fresh():
    """The tensors that objects below change, as they were."""
    POOL[:] = [t(2, 3), t(3), t(6), leaf(2, 3), ints(3), t(2, 2)]


# What can be done to a tensor while a call is looking at it

def _quietly(change):
    def run(*_):
        with contextlib.suppress(Exception):
            change()
    return run


_ASKED = itertools.count()


def _collect():
    """Collect garbage, all of it one time in ten: an object that is asked often shall not look like one that hangs."""
    gc.collect(2 if next(_ASKED) % 10 == 0 else 0)


EFFECTS = {
    "shrink": _quietly(lambda: [x.detach().resize_(0) for x in POOL]),
    "grow": _quietly(lambda: [x.detach().resize_(1000) for x in POOL]),
    "swap": _quietly(lambda: [setattr(x, "data", torch.zeros(1)) for x in POOL]),
    "shape": _quietly(lambda: [x.detach().t_() for x in POOL]),
    "drop": _quietly(POOL.clear),
    "empty": _quietly(lambda: [x.untyped_storage().resize_(0) for x in POOL]),
    "write": _quietly(lambda: [x.detach().zero_() for x in POOL]),
    "collect": _collect,
    "call": _quietly(lambda: (POOL[3] * 2).sum().backward()),
    "raise": lambda: (_ for _ in ()).throw(ValueError("hostile")),
    "none": lambda: None,
}


class Lie:
    """Answers every question with `value`, after doing `effect`."""

    def __init__(self, value=0, effect="none"):
        self.value, self.effect = value, effect

    def _answer(self, *_args, **_kwargs):
        EFFECTS[self.effect]()
        return self.value

    __index__ = __int__ = __float__ = __complex__ = __bool__ = __len__ = __getitem__ = __iter__ = __next__ = _answer
    __array__ = __eq__ = __lt__ = __gt__ = __add__ = __radd__ = __mul__ = __rmul__ = __call__ = __contains__ = _answer
    __enter__ = __exit__ = __length_hint__ = __round__ = __trunc__ = __fspath__ = __setitem__ = _answer
    __hash__ = object.__hash__

    def __repr__(self):
        return f"Lie({self.value!r}, {self.effect!r})"


class Index:
    """Only an index: nothing else can be had of it."""

    def __init__(self, value=0, effect="none"):
        self.value, self.effect = value, effect

    def __index__(self):
        EFFECTS[self.effect]()
        return self.value


class Func:
    """Takes part in calls by `__torch_function__`."""

    def __init__(self, value=0, effect="none"):
        self.value, self.effect = value, effect

    def __torch_function__(self, func, types, args=(), kwargs=None):
        EFFECTS[self.effect]()
        return self.value


class Like:
    """Something that turns into an array."""

    def __init__(self, value=0, effect="none"):
        self.value, self.effect = value, effect

    def __array__(self, dtype=None, copy=None):
        EFFECTS[self.effect]()
        return self.value


class Late:
    """Does `effect` when it goes."""

    def __init__(self, effect="none"):
        self.effect = effect

    def __del__(self):
        with contextlib.suppress(BaseException):
            EFFECTS[self.effect]()


class Many(tuple):
    """A tuple that says it has another length and other members."""

    def __len__(self):
        return 2**62

    def __iter__(self):
        return iter([0, "a", None])


class Long(list):
    """A list that grows while it is read."""

    def __iter__(self):
        for i in range(len(self)):
            if len(self) < 100:
                self.append(2)
            yield self[i]


class Int(int):
    def __index__(self):
        return 2**62

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def loop():
    """A list that contains itself."""
    made = [1]
    made.append(made)
    return made


def nested():
    """A list in a list in a list."""
    made = 1
    for _ in range(2000):
        made = [made]
    return made


def ring():
    made = {"a": 1}
    made["b"] = made
    return made


def shrinking(*values):
    """A list whose `__index__` members empty it."""
    made = list(values)
    made.insert(0, type("Eater", (), {"__index__": lambda self: made.clear() or 1})())
    return made


def raising(*_args, **_kwargs):
    raise ValueError("hostile")


def giving(value, effect="none"):
    """A function that takes anything."""
    def function(*_args, **_kwargs):
        EFFECTS[effect]()
        return value
    return function


def saved(thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


def spoilt(data, at, value):
    """The bytes with one of them changed, or cut there where `value` is None."""
    at %= max(len(data), 1)
    return data[:at] if value is None else data[:at] + bytes([value % 256]) + data[at + 1:]


def archive(thing, old=b"", new=b""):
    """A saved file in which some bytes of the pickle are others; sizes and checksums fit."""
    read, made = zipfile.ZipFile(io.BytesIO(saved(thing))), io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for name in read.namelist():
            data = read.read(name)
            out.writestr(name, data.replace(old, new) if name.endswith("data.pkl") and old else data)
    return made.getvalue()


def load(data, **kwargs):
    return torch.load(io.BytesIO(data), **kwargs)


def repickled(thing, protocol=2):
    return pickle.loads(pickle.dumps(thing, protocol))


def again(function, x, times=50):
    """A function of its own result, but not for ever."""
    for _ in range(min(times, 200)):
        x = function(x)
    return x


def race(*functions):
    """Each in a thread of its own, again and again."""
    def again(function):
        for _ in range(10):
            with contextlib.suppress(Exception):
                function()
    threads = [threading.Thread(target=again, args=(f,), daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def function(forward=None, backward=None):
    """An autograd.Function made of two functions that take ctx first."""
    body = {"forward": staticmethod(forward or (lambda ctx, x: x * 2)),
            "backward": staticmethod(backward or (lambda ctx, g: g * 2))}
    return type("Made", (torch.autograd.Function,), body)


def look(thing, depth=0):
    """Read all of a result, and run its graph."""
    if isinstance(thing, torch.Tensor):
        with contextlib.suppress(Exception):
            if thing.numel() < 10000:
                thing.tolist()
                repr(thing)
                thing.clone().sum()
        with contextlib.suppress(Exception):
            if thing.requires_grad and thing.numel() < 10000:
                thing.sum().backward(retain_graph=True)
                thing.sum().backward(create_graph=True)
        with contextlib.suppress(Exception):
            thing.grad_fn.name()
    elif isinstance(thing, tuple | list) and depth < 3 and type(thing) in (tuple, list):
        for part in thing[:5]:
            look(part, depth + 1)
    elif depth == 0 and thing is not None:
        with contextlib.suppress(Exception):
            repr(thing)[:100]


__all__ = [name for name in globals() if not name.startswith("_") and name not in (
    "annotations", "contextlib", "gc", "threading", "zipfile")]
