"""From a seed and a number to one program: a valid one with some of its parts replaced by hostile ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from .histories import history
from .templates import properties, surface, templates
from .things import DTYPES, EFFECTS

_WHOLE = ["0", "1", "-1", "2", "3", "7", "-2", "5", "63", "64", "65", "100", "-100", "2**15", "2**31 - 1", "2**31", "-2**31", "2**32",
          "2**40", "2**53", "2**59", "2**61", "2**62", "2**63 - 1", "2**63", "-2**63", "-2**63 - 1", "2**64", "10**30", "-10**30",
          "2**29", "2**30 - 1", "2**60 + 1"]
_BROKEN = ["float('nan')", "float('inf')", "-float('inf')", "0.5", "-0.0", "1e308", "1e-320", "-1.5", "1e19", "2.0", "1j", "complex('nan')",
           "complex('inf')", "True", "False"]
_THINGS = ["None", "''", "'a'", "'mean'", "b'a'", "()", "[]", "{}", "...", "object()", "type", "int", "Ellipsis", "loop()", "ring()", "nested()",
           "iter([1, 2])", "(i for i in [1, 2])", "range(3)", "range(2**62)", "slice(None)", "slice(2**62, -2**63, -1)", "slice(0, 5, 0)", "lambda *a, **k: None",
           "raising", "giving(t(3))", "giving('a')", "giving(None, 'shrink')", "giving(coo())", "giving(hollow(t(2, 3)))", "Many((1, 2))", "Long([1, 2])", "Int(1)", "Text('sum')",
           "'\\x00'", "'a' * 10000", "set()", "NotImplemented", "np.float32(1)", "np.int64(2)", "np.bool_(True)", "np.array(3)",
           "np.array([1, 'a'], object)", "np.arange(3)[::-1]", "np.zeros((2, 3), '>f4')", "np.array(['a'])", "np.zeros(2, 'i4,f4')",
           "np.array('2020', 'M8[D]')", "np.zeros((0, 3))", "np.zeros(3, 'u8')", "memoryview(b'abcd')", "bytearray(8)",
           "torch.float32", "torch.int64", "torch.complex64", "torch.bool", "torch.bfloat16", "torch.device('meta')", "'meta'", "'cpu'", "'cuda'",
           "torch.strided", "torch.channels_last", "torch.preserve_format", "torch.Size([2])", "torch.Generator()", "torch.Tensor", "nn.Linear(2, 2)",
           "nn.Parameter(t(2))", "torch.UntypedStorage(8)", "t(3).untyped_storage()", "leaf(3).exp().grad_fn", "torch", "torch.add", "torch.Tensor.add",
           "Keen", "Sub", "Wrap", "Hollow", "Mode()", "Mode(t(3))", "FunctionMode()", "fwAD", "t(3).__dlpack__()", "traced(nn.Linear(3, 2))", "torch.fx.Graph()",
           "torch.ops.aten.add.Tensor", "torch.sparse_coo", "torch.sparse_csr", "torch.array_api.ones(3)", "torch.array_api.float32", "[t(2), None]", "[t(2), t(3)]", "(t(2), 'a')", "[[1, 2], [3]]", "[None]", "['a']", "[1, 2.5]", "[[t(2)], 1]", "(1, -1)", "(2**62, 4)",
           "(-1, -1)", "(0, 0)", "(2**31, 2**31, 2)", "[True]", "(1,) * 70", "[2**63]", "[0] * 1000", "shrinking(1, 2)", "{'a': t(2)}"]
_SHAPES = ["3", "2, 3", "", "0", "1", "2, 0, 3", "1, 1, 1, 1", "2, 3, 4", "6", "1, 2, 3, 3", "5, 5", "4, 1", "70", "2, 2, 3, 3, 2", "17, 3"]
_SPECIAL = ["deep()", "deep('float64', 63)", "deep('int64')", "full(float('nan'), 2, 3)", "full(float('inf'), 3, 3)", "full(2**62, 3, dtype='int64')",
            "full(-2**63, 4, dtype='int64')", "full(-1, 2, dtype='int64')", "full(255, 3, dtype='uint8')", "full(-128, 3, dtype='int8')", "full(1e30, 2, 3)",
            "full(100, 3, dtype='int64')", "full(-2**31, 2, 3, dtype='int32')", "POOL[0]", "POOL[1]", "POOL[2]", "POOL[3]", "POOL[4]", "POOL[5]", "POOL[0]", "POOL[0]",
            "inferred(2, 3)", "wide(t(1))", "wide(t(3), 2**13)", "wide(none(0), 2**62)", "meta(2, 3)", "meta(2**40, 2**20)", "meta()",
            "coo()", "coo(2**40, 2**40)", "coo(2, 3, full(-1, 2, 3, dtype='int64'))", "coo(2, 3, full(2**62, 2, 3, dtype='int64'))", "coo(0, 0)", "coo(2, 3, None, leaf(3))",
            "csr()", "csr(full(2**40, 3, dtype='int64'))", "csr(None, full(-5, 3, dtype='int64'))", "csr(None, None, t(2, 3))", "wrapper(t(2, 3))", "wrapper(leaf(2, 3))",
            "wrapper(t(2, 3), t(1))", "wrapper(t(3), 'a')", "wrapper(t(2, 3), None, 'swap')", "wrapper(t(2, 3), meta(2**40))", "hollow(t(2, 3))", "hollow(leaf(3))",
            "hollow(wide(t(3), 2**50))", "dual(t(2, 3))", "dual(leaf(2, 3), leaf(2, 3))",
            "none(2, 0)", "none(0, 2**40)", "t(2, 3).conj()", "t(2, dtype='complex64').conj()", "t(2, dtype='complex64').imag", "torch.eye(3)", "torch.zeros(3, 3)"]
_WRAPS = ["wrapper", "hollow", "dual", "turned", "spaced", "behind", "stretched", "lapped", "backed", "emptied", "swapped", "sub", "keen", "wide", "leaf_of", "inner_of"]
_KEYWORDS = ["out", "dim", "dtype", "keepdim", "inplace", "device", "generator", "requires_grad", "axis", "alpha", "size", "memory_format", "layout",
             "non_blocking", "copy", "input", "other", "self", "reduction", "weight", "a"]


class Draw:
    """Hostile expressions, as text."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def any(self, depth: int = 0) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.22:
            return rng.choice(_WHOLE)
        if kind < 0.30:
            return rng.choice(_BROKEN)
        if kind < 0.52:
            return self.tensor()
        if kind < 0.62:
            return self.object()
        if kind < 0.70 and depth < 2:
            parts = ", ".join(self.any(depth + 1) for _ in range(rng.randrange(4)))
            return f"[{parts}]" if rng.random() < 0.5 else f"({parts},)" if parts else "()"
        return rng.choice(_THINGS)

    def tensor(self) -> str:
        rng = self.rng
        if rng.random() < 0.35:
            text = rng.choice(_SPECIAL)
        else:
            shape, dtype = rng.choice(_SHAPES), rng.choice(DTYPES)
            maker = rng.choice(["t", "t", "ints", "none", "meta", "leaf", "inner"])
            dtype = rng.choice(DTYPES[:4]) if maker in ("leaf", "inner") else dtype
            text = f"{maker}({shape}{', ' if shape else ''}dtype={dtype!r})"
        return self.wrapped(text) if rng.random() < 0.3 else text

    def wrapped(self, text: str) -> str:
        rng = self.rng
        wrap = rng.choice(_WRAPS)
        if wrap == "leaf_of":
            return f"{text}.detach().requires_grad_()"
        if wrap == "inner_of":
            return f"({text}.detach().requires_grad_() * 1)"
        return f"{wrap}({text})"

    def object(self) -> str:
        rng = self.rng
        kind, effect = rng.choice(["Lie", "Lie", "Index", "Index", "Func", "Like", "Late"]), rng.choice(list(EFFECTS))
        if kind == "Late":
            return f"Late({effect!r})"
        fast = [text for text in _WHOLE if not text.startswith(("2**3", "2**29"))]      # a length of 2**31 takes its time to read
        value = rng.choice([*fast, *fast, "t(3)", "None", "'a'", "[1]", "np.zeros(3)", "0.5", "np.array([None])"])
        return f"{kind}({value}, {effect!r})"

    def of_kind(self, node: ast.expr) -> str:
        """Hostile, but mostly of the kind that was there: what passes the first check meets the second."""
        rng = self.rng
        if rng.random() < 0.3:
            return self.any()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                return rng.choice(["True", "False", "1", "None", "Lie(1)", "t()"])
            if isinstance(node.value, int | float):
                return rng.choice(_WHOLE) if rng.random() < 0.6 else rng.choice(_BROKEN) if rng.random() < 0.6 else self.object()
            if isinstance(node.value, str):
                return rng.choice(["''", "'a'", "'sum'", "'none'", "'mean'", "'\\x00'", "Text('sum')", "None", "1"])
        if isinstance(node, ast.List | ast.Tuple):
            return "(" + "".join(f"{rng.choice(_WHOLE)}, " for _ in range(rng.choice([0, 1, 2, 2, 3, 4, 65]))) + ")"
        if isinstance(node, ast.Lambda):
            return rng.choice(["raising", "giving(None)", "giving('a')", "giving(t(2))", "giving(wide(t(1)))", "giving(3, 'shrink')", "giving((t(3), 'a'))",
                               "giving(emptied(t(3)))", "giving(t(2, 3), 'swap')", "giving(meta(3))", "giving(t(3, dtype='complex64'))", "lambda *a: a[0]",
                               "lambda *a: a[-1].detach().resize_(0)", "lambda *a: a[0][..., :0]", "lambda *a: [a]", "giving(t(3), 'drop')",
                               "giving(wrapper(t(3)))", "giving(hollow(t(3)))", "giving(coo())", "giving(dual(t(3)))", "lambda *a: a[0].to_sparse()"])
        if isinstance(node, ast.Call):
            return self.wrapped(ast.unparse(node)) if rng.random() < 0.4 else self.tensor()
        return self.any()


_MAKERS = {"t", "ints", "leaf", "inner", "none", "meta", "full", "deep", "inferred"}


def _is_maker(node: ast.AST) -> bool:
    """A tensor: replaced as a whole, or made in another shape or dtype."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS


def _is_number(node: ast.AST) -> bool:
    """An expression of numbers alone."""
    return isinstance(node, ast.BinOp) and not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """As ast.walk, without what is inside a maker."""
    yield tree
    if not _is_maker(tree) and not _is_number(tree):
        for child in ast.iter_child_nodes(tree):
            yield from _nodes(child)


def _remade(call: ast.Call, rng: Random) -> None:
    """The tensor with another size, another number of axes, or another dtype."""
    kind = rng.random()
    if kind < 0.35 and call.args:
        call.args[rng.randrange(len(call.args))] = ast.Constant(rng.choice([0, 0, 1, 1, 2, 3, 4, 5, 8, 17, 33]))
    elif kind < 0.5:
        call.args.insert(rng.randrange(len(call.args) + 1), ast.Constant(rng.choice([0, 1, 2, 3])))
    elif kind < 0.6 and call.args:
        del call.args[rng.randrange(len(call.args))]
    else:
        call.keywords = [word for word in call.keywords if word.arg != "dtype"]
        call.keywords.append(ast.keyword("dtype", ast.Constant(rng.choice(DTYPES))))


def _places(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Where an expression can be replaced: its owner, the field, and the number in that field."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for node in _nodes(tree):
        if _is_maker(node) or _is_number(node):
            continue
        if isinstance(node, ast.Call):
            found += [(node, "args", i) for i in range(len(node.args))]
        elif isinstance(node, ast.keyword) and node.arg == "dtype":
            continue
        elif isinstance(node, ast.keyword | ast.BinOp | ast.Subscript | ast.Assign | ast.AugAssign):
            fields = {"keyword": ("value",), "BinOp": ("left", "right"), "Subscript": ("slice",), "Assign": ("value",),
                      "AugAssign": ("value",)}[type(node).__name__]
            found += [(node, field, None) for field in fields]
        elif isinstance(node, ast.List | ast.Tuple) and isinstance(getattr(node, "ctx", None), ast.Load):
            found += [(node, "elts", i) for i in range(len(node.elts))]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            found.append((node, "value", None))
    return found


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def put(place: tuple[ast.AST, str, int | None], made: ast.expr) -> None:
    owner, field, at = place
    if at is None:
        setattr(owner, field, made)
    else:
        getattr(owner, field)[at] = made


def get(place: tuple[ast.AST, str, int | None]) -> ast.expr:
    owner, field, at = place
    value = getattr(owner, field)
    return value if at is None else value[at]


def _change(tree: ast.Module, draw: Draw) -> None:
    rng, kind = draw.rng, draw.rng.random()
    calls = [node for node in _nodes(tree) if isinstance(node, ast.Call) and not _is_maker(node)]
    made = [node for node in _nodes(tree) if _is_maker(node)]
    places = _places(tree)
    if kind < 0.25 and made:
        _remade(rng.choice(made), rng)           # type: ignore[arg-type]
    elif kind < 0.75 and places:
        place = rng.choice(places)
        put(place, expression(draw.of_kind(get(place))))
    elif kind < 0.83 and calls:
        call = rng.choice(calls)
        call.args.insert(rng.randrange(len(call.args) + 1), expression(draw.any()))
    elif kind < 0.90 and calls:
        call = rng.choice(calls)
        taken = {word.arg for word in call.keywords}
        name = rng.choice([word for word in _KEYWORDS if word not in taken])
        call.keywords.append(ast.keyword(name, expression(draw.tensor() if name == "out" else draw.any())))
    elif calls:
        call = rng.choice(calls)
        if call.args:
            del call.args[rng.randrange(len(call.args))]


def _blind(draw: Draw) -> str:
    """Something public, called with anything."""
    rng, kind = draw.rng, draw.rng.random()
    if kind < 0.12:
        name = rng.choice(properties())
        return rng.choice([f"{draw.tensor()}.{name}", f"x = {draw.tensor()}\nx.{name} = {draw.any()}\nx", f"x = {draw.tensor()}\ndel x.{name}\nx"])
    name = rng.choice(surface())
    args = [draw.any() for _ in range(rng.randrange(5))]
    if args and rng.random() < 0.6:
        args[0] = draw.tensor()
    if rng.random() < 0.2:
        args.append(f"{rng.choice(_KEYWORDS)}={draw.any()}")
    text = f"{name}({', '.join(args)})"
    if rng.random() < 0.3 and not name.startswith("torch.Tensor"):
        text += f"({draw.any()})"                        # a class: its object is called, or asked
    return text


def _of_bounded_work(tree: ast.AST) -> None:
    """Two things take as long as they are told, in every library: numbers of Python's own, and layers that are made one by one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift) and _is_number(node) and not (
                isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            node.left = expression("t(3)")
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name.startswith("nn.Transformer") or name in ("nn.RNN", "nn.LSTM", "nn.GRU"):
            first = 0 if "Transformer" in name else 2
            node.args[first:] = [ast.Constant(3) if _is_large(arg) else arg for arg in node.args[first:]]
            for word in node.keywords:
                word.value = ast.Constant(3) if _is_large(word.value) else word.value


def _is_large(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) and (_is_number(node) or any(
        name in ast.unparse(node) for name in ("Index", "Lie", "Int", "Text")))


def program(seed: int, number: int) -> str:
    """The program of a number; the same for the same seed."""
    rng = Random(f"{seed}:{number}")
    draw = Draw(rng)
    kind = rng.random()
    if kind < 0.2:
        return _blind(draw)
    if kind < 0.3:
        tree, changes = ast.parse(history(rng)), rng.choice([0, 0, 0, 1, 2])
    else:
        group = rng.choices(templates(), weights=[52, 10, 5, 18, 15])[0]
        tree, changes = ast.parse(rng.choice(group)), rng.choice([1, 1, 1, 2, 2, 3])
    for _ in range(changes):
        _change(tree, draw)
    _of_bounded_work(tree)
    return ast.unparse(ast.fix_missing_locations(tree))
