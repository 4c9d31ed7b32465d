"""Random programs: operations, views and every way of writing to memory, on a few small tensors.

A program is a list of statements in plain Python over the name `torch`, so it reads, shrinks and runs as code. The author lets
torch execute each statement as it is written, only to know which names and shapes there are for the next one.
"""

from __future__ import annotations

import random
import warnings
from types import ModuleType
from typing import Any

from tests.oracle.fuzz.machine import Machine, protected

SHAPES = [(), (3,), (4,), (1, 3), (2, 2), (2, 3), (3, 2), (2, 3, 2), (2, 1, 3)]
ROOM = 9  # names in play
LARGE = 200.0  # a program ends before its numbers leave this range

UNARY = """{a}.sin() {a}.cos() {a}.tanh() {a}.sigmoid() {a}.relu() {a}.abs() -{a} {a}.clone() {a}*2 {a}+1 {a}/2 1-{a} {a}**2 {a}**3
2/({a}.abs()+1) ({a}.abs()+0.5).sqrt() ({a}.abs()+0.5).log() {a}.clamp(-1,1).exp() {a}.clamp(-1,1) {a}.square() {a}.sum() {a}.mean()
{a}.prod() {a}.norm() {a}.max() {a}.exp().clamp(0,5) 0.5*{a} {a}.reciprocal().clamp(-3,3) {a}.flatten() {a}.erf() {a}.expm1().clamp(-3,3)
{a}.contiguous() {a}.masked_fill({a}>0,0.5) {a}.round() {a}.sign()*{a} Square.apply({a}) torch.where({a}>0,{a},0.1) {a}.var()""".split()
ALONG = """{a}.sum({d}) {a}.mean({d}) {a}.softmax({d}) {a}.log_softmax({d}) {a}.cumsum({d}) {a}.cumprod({d}) {a}.max({d})[0] {a}.min({d})[0]
{a}.amax({d}) {a}.flip({d}) {a}.roll(1,{d}) {a}.sort({d})[0] {a}.prod({d}) {a}.norm(dim={d}) {a}.sum({d},keepdim=True) {a}.logsumexp({d})
{a}.std({d},correction=0) torch.cat([{a},{a}],{d}) torch.stack([{a},{a}],{d}) {a}.repeat_interleave(2,{d})
{a}.index_select({d},torch.tensor([0,0])) {a}.gather({d},torch.zeros_like({a},dtype=torch.int64))""".split()
BINARY = """{a}+{b} {a}-{b} {a}*{b} {a}/({b}.abs()+1) torch.maximum({a},{b}) torch.minimum({a},{b}) torch.where({a}>0.1,{a},{b}) {a}*{b}+{a}
torch.atan2({a},{b}) torch.lerp({a},{b},0.3) torch.addcmul({a},{a},{b},value=0.5) torch.hypot({a},{b}) {a}-{b}*{b}
torch.pow({a}.abs()+0.5,{b}.clamp(-1,1))""".split()
VIEWS = """{a}[...] {a}.view({a}.shape) {a}.view(-1) {a}.reshape(-1) {a}.unsqueeze(0) {a}.squeeze() {a}.expand(2,*{a}.shape) {a}.view_as({a})
{a}.detach() {a}.detach() {a}.data""".split()
VIEWS_1D = "{a}[0] {a}[:2] {a}[1:] {a}[::2] {a}[-1] {a}.narrow(0,0,1) {a}[None] {a}.unfold(0,1,1) {a}.split(2)[0] {a}.unbind()[0] {a}.chunk(2)[-1]".split()
VIEWS_2D = """{a}.t() {a}.mT {a}[0] {a}[:,0] {a}[:,1:] {a}[1:] {a}.transpose(0,1) {a}.diagonal() {a}[:1,:1] {a}.select(1,0) {a}.unbind(1)[0]
{a}[...,-1] {a}.split(1,1)[0] {a}.T.contiguous() {a}.as_strided((2,),(1,))""".split()
VIEWS_3D = "{a}[0] {a}[:,0] {a}[...,0] {a}.permute(2,0,1) {a}.transpose(0,2) {a}.flatten(1) {a}[:,:,1:] {a}.movedim(0,1)".split()
WRITES = """add_(1) mul_(2) mul_(0.5) sub_(0.25) div_(2) neg_() zero_() fill_(0.5) sin_() tanh_() sigmoid_() abs_() relu_() square_() clamp_(-1,1)
pow_(2) exp_().clamp_(0,5) masked_fill_({m},0.5) copy_({c}) add_({c}) mul_({c}) sub_({c},alpha=0.5) lerp_({c},0.3) addcmul_({c},{c},value=0.1)
copy_({c}.detach()) mul_({c}.detach()) cos_() round_() erf_()""".split()
KEYS_1D = "[0] [-1] [:2] [1:] [::2] [...] [:] [torch.tensor([0,1])] [[0]] [{m}] [None]".split()
KEYS_2D = "[0] [:,0] [0,1] [1:] [:,:1] [...,-1] [torch.tensor([1,0])] [:,torch.tensor([0])] [{m}] [torch.tensor([True,False])] [:]".split()
KEYS_3D = "[0] [:,0] [...,1] [0,0] [:,torch.tensor([0]),0] [{m}] [1:]".split()


class Author:
    """Writes one program."""

    def __init__(self, seed: int, torch: ModuleType) -> None:
        self.random = random.Random(seed)
        self.machine = Machine(torch)
        self.lines: list[str] = []
        self.count = 0
        self.dtype = "float32" if self.random.random() < 0.15 else "float64"

    def write(self, length: int) -> list[str]:
        for _ in range(self.random.randint(1, 3)):
            self.say(f"{self.new()} = {self.fresh(requires_grad=True)}")
        if self.random.random() < 0.7:
            self.say(f"{self.new()} = {self.fresh()}")
        while len(self.lines) < length and self.calm():
            self.say(self.statement())
        if not self.calm():
            self.lines.pop()
        return self.lines + self.ending()

    # --- what there is ---

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def say(self, line: str) -> None:
        self.machine.run(line)
        self.lines.append(line)

    def names(self, test: Any = lambda t: True) -> list[str]:
        return [n for n, t in self.machine.valid() if t.is_floating_point() and test(t)][-ROOM:]

    def pick(self, test: Any = lambda t: True) -> str:
        return self.random.choice(self.names(test) or self.names())

    def tensor(self, name: str) -> Any:
        return self.machine.names[name]

    def calm(self) -> bool:
        """All numbers are finite and of moderate size, so that the comparison means something."""
        values = [t.detach().abs().max() for _, t in self.machine.tensors() if t.numel() and t.dtype.is_floating_point | t.is_complex()]
        return all(v <= LARGE for v in values)  # false for NaN too

    # --- what to say ---

    def fresh(self, shape: tuple | None = None, requires_grad: bool = False) -> str:
        shape = self.random.choice(SHAPES) if shape is None else shape

        def fill(rest: tuple) -> Any:
            return [fill(rest[1:]) for _ in range(rest[0])] if rest else round(self.random.uniform(-2, 2), 4)

        flag = ", requires_grad=True" if requires_grad else ""
        return f"torch.tensor({fill(shape)}, dtype=torch.{self.dtype}{flag})"

    def statement(self) -> str:
        kinds = self.kinds()
        return self.random.choices(list(kinds), list(kinds.values()))[0]()

    def kinds(self) -> dict[Any, int]:
        """What may be said, and how often."""
        return {
            self.operation: 30,
            self.view: 18,
            self.write_in_place: 24,
            self.assign: 12,
            self.rebind_data: 2,
            self.differentiate: 4,
            self.update: 2,
            self.flag: 3,
            self.constant: 3,
            self.blunder: 2,
        }

    def operation(self) -> str:
        r, a = self.random, self.pick()
        rank = self.tensor(a).dim()
        choice = r.random()
        if choice < 0.4:
            text = r.choice(UNARY).format(a=a)
        elif choice < 0.6 and rank:
            d = r.randrange(-rank, rank)
            text = r.choice(ALONG).format(a=a, d=d)
        elif choice < 0.7 and rank == 2:
            b = self.pick(lambda t: t.dim() in (1, 2) and t.shape[0] == self.tensor(a).shape[1])
            text = f"{a} @ {b}"
        else:
            text = r.choice(BINARY).format(a=a, b=self.partner(a))
        return f"{self.new()} = {text}"

    def partner(self, name: str) -> str:
        """Something that broadcasts with a tensor."""
        shape = tuple(self.tensor(name).shape)
        fitting = [n for n in self.names() if _broadcasts(shape, tuple(self.tensor(n).shape))]
        return self.random.choice(fitting)

    def view_of(self, name: str) -> str:
        rank = self.tensor(name).dim()
        forms = VIEWS + {0: [], 1: VIEWS_1D, 2: VIEWS_2D, 3: VIEWS_3D}.get(rank, []) * 2
        return self.random.choice(forms).format(a=name)

    def view(self) -> str:
        return f"{self.new()} = {self.view_of(self.pick())}"

    def guarded(self, line: str) -> str:
        return f"with torch.no_grad(): {line}" if self.random.random() < 0.15 else line

    def target(self) -> str:
        """A tensor, an alias of it or a view of it, preferably not a leaf that refuses."""
        r = self.random
        a = self.pick(lambda t: not _refusing(t)) if r.random() < 0.85 else self.pick()
        refusing = _refusing(self.tensor(a))
        choice = r.random()
        if choice < (0.45 if refusing else 0.15):
            return f"{a}.data"
        if choice < (0.8 if refusing else 0.28):
            return f"{a}.detach()"
        return self.view_of(a) if choice > 0.85 else a

    def fill_in(self, text: str, target: str, part: Any, written: Any, elementwise: bool = True) -> str:
        """Puts in a mask of the target and a value for a part of it."""
        shape = tuple(part.shape)
        defined = self.names(lambda t: _defined(t, written, elementwise))
        fitting = [n for n in defined if _broadcasts_to(tuple(self.tensor(n).shape), shape)]
        c = self.random.choice(fitting) if fitting and self.random.random() < 0.85 else self.fresh(shape)
        return text.format(m=f"{target}>0.2", c=c)

    def write_in_place(self) -> str:
        target = self.target()
        result = self.machine.value(target)
        if result is None or not result.is_floating_point():
            return self.view()
        return self.guarded(f"{target}.{self.fill_in(self.random.choice(WRITES), target, result, result)}")

    def assign(self) -> str:
        r, target = self.random, self.target()
        result = self.machine.value(target)
        if result is None or not 1 <= result.dim() <= 3 or not result.numel():
            return self.operation()
        key = r.choice({1: KEYS_1D, 2: KEYS_2D, 3: KEYS_3D}[result.dim()]).format(m=f"{target}>0.2")
        part = self.machine.value(target + key)
        if part is None:
            return self.operation()
        values = ["0.5", "7", "{c}", "{c}", "{c}*2"]
        if len(set(_places(result))) < result.numel() and not _on(part, result):
            values = values[:2]  # an index tensor into an expanded target: of several values the last written would win
        # What is written is the part itself, if the key makes a view; with index tensors it is what is left to index.
        written = part if _on(part, result) else result[..., 0] if key.endswith(",0]") else result
        value = self.fill_in(r.choice(values), target, part, written, _on(part, result))
        return self.guarded(f"{target}{key} {r.choice(['=', '=', '=', '+=', '*='])} {value}")

    def rebind_data(self) -> str:
        """Also where there are views, which torch goes on treating as views of what they no longer share memory with."""
        a = self.pick()
        shape = tuple(self.tensor(a).shape)
        fitting = self.names(lambda t: tuple(t.shape) == shape)
        return f"{a}.data = {self.random.choice(fitting) if self.random.random() < 0.2 else self.fresh(shape)}"

    def differentiate(self) -> str:
        a = self.pick(lambda t: t.requires_grad)
        keep = self.random.choice(["retain_graph=True", "retain_graph=True", "retain_graph=True", "retain_graph=False"])
        return f"weigh({a}).backward({keep})"

    def update(self) -> str:
        a = self.pick(lambda t: t.is_leaf and t.requires_grad)
        if not self.tensor(a).is_leaf or self.tensor(a).grad is None:
            return self.differentiate()
        return self.random.choice(
            [
                f"with torch.no_grad(): {a} -= 0.1 * {a}.grad",
                f"{a}.data -= 0.1 * {a}.grad",
                f"{a}.data.add_({a}.grad, alpha=-0.1)",
                f"{a}.grad = None",
            ]
        )

    def flag(self) -> str:
        a = self.pick()
        out = self.pick(lambda t: _fits_out(self.tensor(a), t))
        return self.random.choice(
            [
                f"{a}.requires_grad_()",
                f"{a}.retain_grad()",
                f"{a}.register_hook(lambda g: g * 2)",
                f"{a}.register_hook(lambda g: g * 2)",
                f"{a}.detach_()",
                f"torch.add({a}, 1, out={out})" if _fits_out(self.tensor(a), self.tensor(out)) else f"{a}.sum()",
                f"with torch.no_grad(): torch.mul({a}, 2, out={a}.detach())",
                f"{self.new()} = Double.apply({a})",
                f"with torch.no_grad(): {self.new()} = {self.view_of(a)}",
                f"{a}.unsqueeze_(0)",
            ]
        )

    def constant(self) -> str:
        return f"{self.new()} = {self.fresh(requires_grad=self.random.random() < 0.3)}"

    def blunder(self) -> str:
        """Something that is usually refused."""
        a = self.pick()
        b = self.pick(lambda t: _defined(t, self.tensor(a)))
        forms = ["{n} = {a} @ {b}"]
        if self.tensor(a).dim():
            forms += ["{a}[5] = 1"]
        if _defined(self.tensor(b), self.tensor(a)):
            forms += ["{a}.add_({b})", "{a}.copy_({b})"]
        if self.tensor(a).is_contiguous():
            forms += ["{a}[1:] = {a}[:-1]"]
        return self.random.choice(forms).format(n=self.new(), a=a, b=b)

    def ending(self) -> list[str]:
        """The gradient of every output for every leaf, now and then differentiated again."""
        said = "\n".join(self.lines)
        leaves = [
            n for n, t in self.machine.valid() if t.is_leaf and t.requires_grad and not t._is_view() and n in said
        ]
        outputs = [n for n in self.names(lambda t: t.requires_grad and not t.is_leaf) if f"{n} = " in said][-4:]
        lines = []
        for i, name in enumerate(outputs):
            twice = self.random.random() < 0.25
            options = "create_graph=True" if twice else "retain_graph=True"
            lines.append(
                f"g{i} = torch.autograd.grad(weigh({name}), [{', '.join(leaves)}], allow_unused=True, {options})"
            )
            if twice:
                lines.append(f"h{i} = again(g{i}, [{', '.join(leaves)}])")
        return lines


def _refusing(t: Any) -> bool:
    """A leaf that requires grad, or a view of one."""
    root = t if t._base is None else t._base
    return root.is_leaf and root.requires_grad


def _defined(a: Any, target: Any, elementwise: bool = True) -> bool:
    """Whether a write to the target that reads `a` has one answer, or a refusal, whatever the order of the loop.

    torch refuses a partial overlap of dense tensors, which is cheap to see. Of others it writes where it still has to read.
    """
    if _dense(a) and _dense(target):
        return True
    if not elementwise:
        return not set(_places(a)) & set(_places(target))
    if not _broadcasts_to(tuple(a.shape), tuple(target.shape)):
        return True  # refused
    read = _places(a.expand(target.shape))
    written = _places(target)
    return read == written or not set(read) & set(written)


def _fits_out(a: Any, out: Any) -> bool:
    """Whether a result of `a` may go into `out`, which torch resizes, and then writes while it still reads what shares it."""
    return not _on(a, out) or (a.shape == out.shape and _defined(a, out))


def _on(a: Any, b: Any) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _places(t: Any) -> list[int]:
    """The address of every element."""
    at = [t.data_ptr()]
    for n, step in zip(t.shape, t.stride(), strict=True):
        at = [a + i * step * t.element_size() for a in at for i in range(n)]
    return at


def _dense(t: Any) -> bool:
    places = _places(t)
    return len(set(places)) == len(places) and max(places, default=0) - min(places, default=0) == (
        (len(places) - 1) * t.element_size() if places else 0
    )


def _broadcasts(a: tuple, b: tuple) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _broadcasts_to(a: tuple, b: tuple) -> bool:
    return len(a) <= len(b) and all(m in (n, 1) for m, n in zip(reversed(a), reversed(b), strict=False))


def write(seed: int, torch: ModuleType, length: int = 14, author: type[Author] = Author) -> list[str]:
    """The statements of program number `seed`."""
    with protected(torch, "copies"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return author(seed, torch).write(length)
