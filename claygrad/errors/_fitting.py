"""What would have run: the call that failed is made again on copies, with one argument changed at a time.

Only calls of claygrad's own operations and layers are made again, and only those that fail again with the same text:
so what is said has been tried. Nothing that the program holds is changed by it, no random number is drawn from its
generators, and none of its functions runs.
"""

from __future__ import annotations

import ast
import collections
import copy
import math
import operator
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from claygrad.core import Tensor, device, dtype
from claygrad.core.dispatch.promotion import facts
from claygrad.core.graph.intercept import get_batches, get_levels, switch_dispatch
from claygrad.core.graph.observe import unobserved
from claygrad.core.user_warnings import silence
from claygrad.errors._calls import shape_of, shape_text
from claygrad.errors._frames import is_ours_class
from claygrad.errors._source import MISSING, short, value_of

if TYPE_CHECKING:
    from claygrad.errors._calls import Call
    from claygrad.errors._ways import Context

_MAX_ELEMENTS = 2**17                            # of all arguments, which are copied
_FEW_ELEMENTS = 2**10                            # of which all pairs are not many either
_MAX_ITEMS = 1000                                # of lists
_MAX_SECONDS = 0.5                               # of the processor, in all
_MAX_TIMES = 20                                  # on one line: a program that catches its errors is not held up
_MAX_FITS = 2
_PLAIN = (int, float, complex, str, bool, type(None), device, dtype, slice, type(Ellipsis))
_HOMES = ("ops.", "nn.functional", "nn.utils.rnn", "nn.init", "distributions.", "linalg", "fft", "special", "sparse.")
_OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_IN_PLACE = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "@=": operator.imatmul,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand, "|=": operator.ior,
    "^=": operator.ixor,
}  # fmt: skip


_torch: Any = sys.modules["claygrad"]            # of which this part is below: no import can name it


class _Unknown(Exception):
    """The call cannot be made again."""


class _Again(NamedTuple):
    """A call that can be made again."""

    run: Callable[..., Any]
    args: list[Any]
    words: dict[str, Any]                        # arguments by keyword
    names: list[Any]                             # what the line calls args
    layer: Any                                   # a copy of the layer, or None
    written: dict[str, Any]                      # and those by keyword
    elementwise: bool = False                    # the arguments are broadcast against each other


class _Change(NamedTuple):
    """A way to change an argument: its text, with {} for the name, and the value."""

    text: str
    value: Any


_Kind = Callable[[Any, list[Any]], Iterator[_Change]]
_OF_OTHERS = re.compile(r"divisib|[Pp]adding (?:length|size)|out of (?:range|bounds)|too small|greater than")
_OF_DTYPES = re.compile(r"(?i)type|implemented for|long|float|double|half|bool|byte|integ|complex|indices must")
_RANDOM = re.compile(
    r"rand|drop|normal|noulli|multinom|poisson|exp|rrelu|gumbel|attention|rnn|lstm|gru|geom|cauchy|unif"
)
_ATOM = re.compile(r"[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])*(?:\.\w+(?:\([^()]*\)|\[[^\[\]]*\])*)*")


_times: collections.Counter[str] = collections.Counter()


def fitting(context: Context, call: Call, names: list[Any]) -> str:
    """`keep.squeeze(1), (10,), fits here`: the first changes with which the call runs, or nothing."""
    if get_levels() or get_batches():            # inside vmap and forward mode, arguments are not what they seem
        return ""
    if _OF_OTHERS.search(context.head):
        return ""
    _times[context.line.text] += 1
    if _times[context.line.text] > _MAX_TIMES:
        return ""
    dispatch_was_off = switch_dispatch(True)
    try:
        with silence(), _torch.no_grad(), _torch.random.fork_rng(devices=[], enabled=_may_draw(call)):
            return unobserved(lambda: _first_fits(context, _again(context, call, names)))
    except Exception:                            # a call that cannot be made again tells nothing
        return ""
    finally:
        switch_dispatch(dispatch_was_off)


def _may_draw(call: Call) -> bool:
    """Whether a call may draw random numbers. The state of the generator, which is kept then, takes some memory."""
    if call.kind in ("operator", "assignment", "indexing"):
        return False
    return call.kind != "operation" or _RANDOM.search(call.name) is not None


def _first_fits(context: Context, again: _Again) -> str:
    end = time.thread_time() + _MAX_SECONDS
    if _text_of(again, again.args, again.words, sure=True) != context.head:
        return ""
    if again.layer is not None and getattr(again.layer, "batch_first", None) is False:
        again.layer.batch_first = True
        if _text_of(again, again.args, again.words) is None:
            return "it runs where the layer is made with batch_first=True: the input's first dimension is the batch"
        again.layer.batch_first = False
    fits: list[str] = []
    seen = set()
    first = None
    for kind, at, name, change in _changes(again, _kinds_for(context.head), end):
        if first not in (None, kind):
            break
        args, words = _with(again, at, change.value)
        key = at, facts(change.value)[:2] if isinstance(change.value, Tensor) else change.text
        if key in seen:
            continue
        seen.add(key)
        if _text_of(again, args, words) is None:
            code = change.text.format(name)
            shape = f", {shape_text(shape_of(change.value))}," if isinstance(change.value, Tensor) else ""
            fits.append(f"{code}{shape}")
            first = kind
            if len(fits) == _MAX_FITS:
                break
    if not fits:
        return _other_way_round(again)
    return f"it runs with {' or with '.join(one.rstrip(',') for one in fits)}"


def _other_way_round(again: _Again) -> str:
    """`B @ A`, of matrices that fit so."""
    names = again.names[:2]
    product = getattr(again.run, "name", getattr(again.run, "__name__", "")) in ("matmul", "mm", "bmm")
    if not product or len(again.args) != 2 or not all(isinstance(name, str) for name in names) or len(names) != 2:
        return ""
    if _text_of(again, again.args[::-1], {}) is not None:
        return ""
    first, second = (name if _ATOM.fullmatch(name) else f"({name})" for name in names)
    return f"it runs the other way round, {second} @ {first}"


def _text_of(again: _Again, args: list[Any], words: dict[str, Any], *, sure: bool = False) -> str | None:
    """The first line of what the call raises; None if it runs. What is not `sure` to end soon runs on shapes first."""
    if not sure and sum(x.numel() for x in _tensors([args, words])) > _FEW_ELEMENTS:
        text = _text_of_shapes(again, args, words)
        if text is not None:
            return text
    try:
        again.run(*map(_copied, args), **{key: _copied(value) for key, value in words.items()})
    except _Unknown:
        raise
    except Exception as error:
        return str(error).split("\n  ")[0]
    shapes = [shape_of(x) for x in _tensors([args, words])]
    if again.elementwise and math.prod(_torch.broadcast_shapes(*shapes)) > max(map(math.prod, shapes)):
        return "larger than its arguments"       # every pair of elements: nobody means that
    return None


def _text_of_shapes(again: _Again, args: list[Any], words: dict[str, Any]) -> str | None:
    """The same on the device `meta`, where nothing is computed; a text, too, if the result is large or nobody knows."""
    run = again.run if again.layer is None else copy.deepcopy(again.layer).to("meta").forward
    try:
        out = run(*map(_on_meta, args), **{key: _on_meta(value) for key, value in words.items()})
    except NotImplementedError:                  # it depends on values; an index selects no more than there is
        few = sum(x.numel() for x in _tensors([args, words])) <= 8 * _FEW_ELEMENTS
        return None if few or again.run is operator.getitem else "its result may be large"
    except Exception as error:
        return str(error).split("\n  ")[0]
    return "its result is large" if sum(x.numel() for x in _tensors(out)) > _MAX_ELEMENTS else None


def _on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().to("meta")
    return type(value)(map(_on_meta, value)) if type(value) in (list, tuple) else value


def _tensors(value: Any) -> list[Any]:
    """The tensors in the arguments of a call."""
    found: list[Any] = []
    waiting = [value]
    for _ in range(_MAX_ITEMS):
        if not waiting:
            return found
        one = waiting.pop()
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, (list, tuple)):
            waiting.extend(reversed(one))
        elif isinstance(one, dict):
            waiting.extend(reversed(one.values()))
    raise _Unknown                               # lists that contain themselves or each other have no end


def _copied(value: Any) -> Any:
    """A copy that the call may change."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(_copied(one) for one in value)
    if type(value) is dict:
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, tuple) and is_ours_class(type(value)):
        return value                             # a Size, a packed sequence
    if isinstance(value, (*_PLAIN, tuple)) or (is_ours_class(type(value)) and not callable(value)):
        return value
    if _is_record(value):
        return value
    raise _Unknown


def _is_record(value: Any) -> bool:
    """Whether it is an object that only holds values, such as what a model of another library returns."""
    return not callable(value) and not any(
        hasattr(type(value), f"__{name}__") for name in ("torch_function", "array__", "index", "float", "len", "iter"))


def _again(context: Context, call: Call, names: list[Any]) -> _Again:
    """The call of the line, to be made again."""
    args, words = list(call.args), {}
    if sum(x.numel() for x in _tensors(args)) > _MAX_ELEMENTS:
        raise _Unknown
    if any(type(x) not in (Tensor, _torch.nn.Parameter) for x in _tensors(args)):
        raise _Unknown                           # subclasses run code of the user's
    broadcasts = context.head.startswith("The size of tensor a")
    node: Any = context.line.expression
    keywords = node.keywords if isinstance(node, ast.Call) else []
    written = {str(one.arg): short(one.value) for one in keywords}
    if call.kind in ("operator", "assignment"):
        table = _OPERATORS if call.kind == "operator" else _IN_PLACE
        return _Again(table[call.name], args, {}, names, None, written, broadcasts)
    if call.kind == "indexing":
        run = operator.getitem if len(args) == 2 else operator.setitem
        return _Again(run, args, {}, names, None, written)
    if call.kind == "operation":
        count = len(keywords) if names else 0
        if count:                                # values of keywords come after those by position
            words = {str(one.arg): value for one, value in zip(keywords, args[-count:], strict=True)}
            args = args[:-count]
        return _Again(call.called, args, words, names, None, written, broadcasts)
    words = {str(one.arg): value_of(one.value, context.frame) for one in keywords}
    if any(one is MISSING for one in words.values()):
        raise _Unknown
    if call.kind == "module":
        layer = _copy_of(call.called)
        return _Again(layer.forward, args, words, names, layer, written, broadcasts)
    home = (call.called.__module__ or "").partition(".")[2]
    if call.kind != "function" or not home.startswith(_HOMES):
        raise _Unknown
    if call.called.__qualname__.endswith(".__init__"):
        return _Again(type(args[0]), args[1:], words, names[1:], None, written)
    return _Again(call.called, args, words, names, None, written)


def _copy_of(layer: Any) -> Any:
    """A layer of claygrad's with its own parameters and buffers. Layers that run functions of the user's have none."""
    size = 0
    if any(_torch.nn.modules._calling.CALL_HOOKS.values()):
        raise _Unknown
    for module in layer.modules():
        hooks = (value for name, value in vars(module).items() if name.endswith("_hooks"))
        if not is_ours_class(type(module)) or "forward" in vars(module) or any(hooks):
            raise _Unknown
        size += sum(x.numel() for x in (*module.parameters(False), *module.buffers(False)))
    if size > _MAX_ELEMENTS * 8:
        raise _Unknown
    return copy.deepcopy(layer)


def _with(again: _Again, at: Any, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with another one at a place: a number, a keyword, or a number and that in a list."""
    args, words = list(again.args), dict(again.words)
    if isinstance(at, str):
        words[at] = value
    elif isinstance(at, tuple):
        kind = type(args[at[0]])
        args[at[0]] = kind(value if i == at[1] else one for i, one in enumerate(args[at[0]]))
    else:
        args[at] = value
    return args, words


def _kinds_for(head: str) -> list[_Kind]:
    """What may be changed: the dtype only where the text speaks of dtypes."""
    kinds = [kind for kind in _KINDS if kind is not _cast or _OF_DTYPES.search(head)]
    return [kind for kind in kinds if kind is not _cut or "target batch_size" not in head]     # rows were mixed up


def _changes(again: _Again, kinds: list[_Kind], end: float) -> Iterator[tuple[_Kind, Any, str, _Change]]:
    """All changes of all arguments, the likeliest first."""
    places: list[tuple[Any, str, Any]] = []
    for i, value in enumerate(again.args):
        name = again.names[i] if i < len(again.names) else None
        if isinstance(name, str):
            places.append((i, name, value))
        if type(value) in (list, tuple) and len(value) <= 4 and all(isinstance(one, Tensor) for one in value):
            base: list[Any] = [f"{name}[{k}]" if isinstance(name, str) else None for k in range(len(value))]
            if isinstance(name, list) and len(name) == len(value):
                base = name
            places += [((i, k), base[k], one) for k, one in enumerate(value) if base[k] is not None]
    places += [(key, again.written.get(key) or key, value) for key, value in again.words.items()]
    tensors = [value for _, _, value in places if isinstance(value, Tensor)]
    for make in kinds:
        for at, name, value in reversed(places):
            for change in make(value, tensors):
                if time.thread_time() > end:
                    return
                yield make, at, name if _ATOM.fullmatch(name) else f"({name})", change


def _squeezed(x: Any, _: list[Any]) -> Iterator[_Change]:
    if isinstance(x, Tensor):
        for d, size in enumerate(shape_of(x)):
            if size == 1:
                yield _Change(f"{{}}.squeeze({d if d < x.dim() - 1 else -1})", x.squeeze(d))


def _transposed(x: Any, _: list[Any]) -> Iterator[_Change]:
    if not isinstance(x, Tensor):
        return
    if x.dim() == 2:
        yield _Change("{}.T", x.T)
    if x.dim() > 2:
        yield _Change("{}.transpose(0, 1)", x.transpose(0, 1))
        yield _Change("{}.transpose(1, 2)", x.transpose(1, 2))
    if x.dim() > 3:
        yield _Change("{}.mT", x.mT)
    if x.dim() in (3, 4):
        for order in ((2, 0, 1), (1, 2, 0)) if x.dim() == 3 else ((0, 3, 1, 2), (0, 2, 3, 1)):
            yield _Change(f"{{}}.permute{order}", x.permute(order))


def _cast(x: Any, others: list[Any]) -> Iterator[_Change]:
    if not isinstance(x, Tensor):
        return
    kind = facts(x)[1]
    for want, code in (("float32", "float"), ("int64", "long"), ("bool", "bool"), ("float64", "double")):
        of_others = want in [str(facts(other)[1]).rpartition(".")[2] for other in others]
        fraction = want == "int64" and x.is_floating_point() and x.numel() and bool((x.frac() != 0).any())
        if str(kind).rpartition(".")[2] != want and (want != "float64" or of_others) and not fraction:
            yield _Change(f"{{}}.{code}()", getattr(x, code)())


def _converted(x: Any, _: list[Any]) -> Iterator[_Change]:
    """What is no tensor and should be one, or the other way round."""
    if isinstance(x, numpy.ndarray):
        yield _Change("torch.from_numpy({})", _torch.from_numpy(x))
        yield _Change("torch.from_numpy({}).float()", _torch.from_numpy(x).float())
    elif isinstance(x, _torch.nn.utils.rnn.PackedSequence):
        yield _Change("{}.data", x.data)
    elif hasattr(x, "_fields") or (type(x) not in (*_PLAIN, list, tuple, dict) and hasattr(x, "__dict__")):
        for key in x._fields if hasattr(x, "_fields") else vars(x):
            if isinstance(getattr(x, key), Tensor):
                yield _Change(f"{{}}.{key}", getattr(x, key))
    elif type(x) in (list, tuple) and x:
        if all(isinstance(one, Tensor) for one in x):
            if len({shape_of(one) for one in x}) == 1:
                yield _Change("torch.stack({})", _torch.stack(x))
            yield _Change("{}[0]", x[0])
        elif all(isinstance(one, (int, float)) for one in x):
            yield _Change("torch.tensor({})", _torch.tensor(x))
            yield _Change("torch.tensor({}).float()", _torch.tensor(x).float())
        elif isinstance(x[0], Tensor):
            yield _Change("{}[0]", x[0])
    elif type(x) is dict:
        for key, value in list(x.items())[:6]:
            if isinstance(value, Tensor):
                yield _Change(f"{{}}[{key!r}]", value)
    elif (isinstance(x, float) and x == int(x)) or (isinstance(x, str) and x.lstrip("-").isdigit()):
        yield _Change("int({})", int(x))
    elif isinstance(x, int) and not isinstance(x, bool):
        yield _Change("torch.tensor({})", _torch.tensor(x))
        yield _Change("[{}]", [x])
    elif isinstance(x, Tensor) and x.dim() == 0:
        yield _Change("{}.item()", x.item())
    elif isinstance(x, Tensor) and x.dim() == 1 and x.numel() < 64 and not x.is_floating_point():
        yield _Change("{}.tolist()", x.tolist())


def _unsqueezed(x: Any, _: list[Any]) -> Iterator[_Change]:
    if isinstance(x, Tensor):
        for d in range(x.dim() + 1):
            yield _Change(f"{{}}.unsqueeze({d if d < max(x.dim(), 1) else -1})", x.unsqueeze(d))


def _flattened(x: Any, _: list[Any]) -> Iterator[_Change]:
    if isinstance(x, Tensor) and x.dim() > 2:
        yield _Change("{}.flatten(1)", x.flatten(1))
    if isinstance(x, Tensor) and x.dim() > 1:
        yield _Change("{}.flatten()", x.flatten())


def _cut(x: Any, others: list[Any]) -> Iterator[_Change]:
    """As many rows as another argument has, and images of its size."""
    if not isinstance(x, Tensor):
        return
    for other in others:
        if x.dim() and other.dim() and other.shape[0] < x.shape[0]:
            yield _Change(f"{{}}[:{other.shape[0]}]", x[: other.shape[0]])
    for other in others:
        images = x.dim() in (3, 4) and other.dim() == 4 and x.is_floating_point()
        if images and _are_scaled(x.shape[-2:], other.shape[-2:]):
            image = x if x.dim() == 4 else x.unsqueeze(1)
            size, channel = tuple(other.shape[-2:]), "" if x.dim() == 4 else ".unsqueeze(1)"
            scaled = _torch.nn.functional.interpolate(image, size=size)
            yield _Change(f"F.interpolate({{}}{channel}, size={size})", scaled)


def _are_scaled(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether images of two sizes are the same in two resolutions."""
    return a != b and all(x and y and max(x, y) % min(x, y) == 0 for x, y in zip(a, b, strict=True)) and min(*a, *b) > 3


_KINDS: tuple[_Kind, ...] = (_converted, _squeezed, _cast, _transposed, _unsqueezed, _flattened, _cut)
