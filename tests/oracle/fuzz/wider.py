"""Wider random programs: all that autograd offers, mixed with the views and writes of program.py.

Gradients of gradients, hooks of every kind, gradients kept, changed and accumulated, saved-tensor hooks, checkpoints, complex
numbers and their views, optimizers and modules, grad modes, custom Functions. By hand, some thousands in ten minutes:

    python -m tests.oracle.fuzz.run --wider --programs 5000 --seed 1
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.oracle.fuzz.machine import BLIND
from tests.oracle.fuzz.program import Author, _broadcasts, _broadcasts_to, _defined, _on, _refusing

MORE = """torch.nn.functional.softplus({a}) torch.nn.functional.gelu({a}) torch.nn.functional.silu({a}) torch.nn.functional.elu({a})
torch.nn.functional.leaky_relu({a}) {a}.atan()
{a}.sinh().clamp(-4,4) {a}.log1p().nan_to_num() torch.special.xlogy({a}.abs(),{a}.abs()+1) {a}.frac() {a}.trunc()+{a} {a}.sinc()
{a}.float().double() {a}.nan_to_num() {a}.square().mean() torch.nn.functional.mse_loss({a},{a}.detach()+1) {a}.min() {a}.amax() {a}.std()
torch.linalg.vector_norm({a},3) torch.where({a}>0.3,{a}*2,{a}.sin()) {a}.tile(2) {a}.ravel() torch.complex({a},{a}.sin()) {a}.to(torch.complex128)
Exponential.apply({a}) Same.apply({a}) Whole.apply({a}).sum() {a}+{a}.detach() {a}*{a}.data
{a}.expand(3,*{a}.shape).sum(0) {a}.logit(0.1) {a}.median() {a}.nansum() {a}.count_nonzero()*{a} {a}.new_zeros({a}.shape)+{a}""".split()
ALONG = """{a}.median({d})[0] {a}.topk(1,{d})[0] {a}.kthvalue(1,{d})[0] {a}.diff(dim={d}) {a}.cummax({d})[0] {a}.var({d},correction=0)
torch.nn.functional.normalize({a},dim={d}) {a}.index_fill({d},torch.tensor([0]),0.5) {a}.take_along_dim(torch.zeros_like({a},dtype=torch.int64),{d})
{a}.index_add({d},torch.tensor([0]),{a}.narrow({d},0,1)) {a}.renorm(2,{d},1.0) {a}.unfold({d},1,1).sum(-1) {a}.movedim({d},0)*2
torch.stack({a}.unbind({d})) torch.cat({a}.split(1,{d}),{d}) {a}.select({d},0)*{a}.select({d},-1) {a}.scatter({d},torch.zeros_like({a},dtype=torch.int64),0.25)
{a}.squeeze({d})*2 {a}.logsumexp({d}) {a}.prod({d},keepdim=True)""".split()
MATRIX = """{a}@{a}.mT {a}.tril() {a}.triu(1) {a}.trace() torch.outer({a}[0],{a}[:,0]) torch.einsum('ij,kj->ik',{a},{a}) {a}.diagonal().sum()
torch.nn.functional.pad({a},(1,0)) torch.addmm({a}@{a}.mT,{a},{a}.mT) {a}.mT.matmul({a})
torch.linalg.matrix_norm({a}) torch.nn.functional.linear({a},{a}) torch.kron({a},{a}[:1]) {a}.rot90() {a}.fliplr()""".split()
WRITES = """index_put_((torch.tensor([0]),),{c0}) scatter_({d},{z},0.5) scatter_add_({d},{z},{s}) index_add_({d},torch.tensor([0]),{n})
index_copy_({d},torch.tensor([0]),{n}) index_fill_({d},torch.tensor([0]),0.3) masked_scatter_({m},{s}) cumsum_({d}) cumprod_({d})
masked_fill_({m},{o}) fill_({o}) clamp_min_(0.1) floor_() frac_() trunc_() put_(torch.tensor([0]),{o}.reshape(1)) lerp_({s},{s}) atan_()
addcdiv_({s},{s}.abs()+1) silu_like div_({s}.abs()+1) copy_({s}) hypot_({s}) leaky_relu_like squeeze_() t_like unsqueeze_(-1) sinh_().clamp_(-3,3)
rsqrt_like logit_(0.1) nan_to_num_() xlogy_like swapaxes_({d},0) copysign_({s}) renorm_(2,{d},1.0) scatter_reduce_({d},{z},{s},'amax')
scatter_reduce_({d},{z},{s},'mean') index_reduce_({d},torch.tensor([0]),{n},'prod') zero_() square_() log1p_().nan_to_num_(0,0,0)""".split()
WRITE_FORMS = {
    "silu_like": "torch.nn.functional.silu({t}, inplace=True)",
    "leaky_relu_like": "torch.nn.functional.leaky_relu_({t}, 0.1)",
    "rsqrt_like": "{t}.abs_().add_(0.5).rsqrt_()",
    "xlogy_like": "{t}.mul_({t})",
    "t_like": "{t}.sub_({t}.mean())",
}
COMPLEX = """{a}*2 {a}*(1+2j) {a}*{a} {a}.conj()*{a} {a}.abs() {a}.angle() {a}.exp().clamp_like {a}+1j {a}.sum() {a}.conj()+{a} -{a} {a}.clone() {a}.mean()
{a}.real*{a}.imag {a}.sgn() {a}.square() {a}/(2+1j) torch.view_as_real({a}).sum(-1) {a}.conj().imag*2 {a}.resolve_conj() {a}.conj_physical() {a}**2
{a}.reciprocal_like {a}.sin()*0.1 {a}.flatten() {a}.conj().flatten() {a}.detach()*{a} {a}.prod() {a}.real+{a}.conj() {a}.norm() {a}.T.conj() Square.apply({a})
{a}.mH.contiguous() {a}.adjoint_like torch.polar({a}.abs(),{a}.angle())""".split()
COMPLEX_FORMS = {
    "clamp_like": "{a}/({a}.abs()+1)",
    "reciprocal_like": "1/({a}+({a}.abs()+1))",
    "adjoint_like": "{a}.conj()*(2-1j)",
}
COMPLEX_BINARY = "{a}+{b} {a}*{b} {a}-{b} {b}*{a}.conj() {a}/({b}.abs()+1) torch.where({b}.abs()>0.5,{a},{a}*2)".split()
COMPLEX_VIEWS = """torch.view_as_real({a}.resolve_conj()) torch.view_as_real({a}) {a}.real {a}.imag {a}.conj() {a}.conj().imag {a}.conj().real {a}[...] {a}.view(-1)
{a}.view(torch.complex128) {a}.detach() {a}.view_as({a}) {a}.conj().conj() {a}.unsqueeze(0) {a}.expand(2,*{a}.shape) {a}.reshape(-1) {a}.data""".split()
COMPLEX_WRITES = """mul_(2) mul_(1j) add_(1-1j) neg_() zero_() fill_(1+1j) copy_({c}) add_({c}) mul_({c}) square_() conj_physical_() div_(2) sub_({c},alpha=0.5)
masked_fill_({t}.abs()>1,0.5j) sin_().mul_(0.2) lerp_({c},0.3) copy_({c}.conj()) mul_({c}.detach()) sgn_()""".split()
BODY_START = ["p*2", "p.clone()", "p.sin()", "p+1", "p.abs()", "p*p", "p-0.3"]
BODY = """t.mul_(2) t.square_() t.sin_() t.add_(1) t.tanh_() t.sin() t*t t.exp().clamp_(0,3) t.sigmoid_() (t[...,:1].mul_(2),t)[1] (t.view(-1)[:1].zero_(),t)[1]
t.clone() t.cumsum(-1) t.relu_() (t[0].add_(1),t)[1] t.abs_().add_(0.1).sqrt_() t.flatten() t.neg_() t.softmax(-1) (t.detach().mul_(2),t)[1]
(t.data.add_(0.5),t)[1] t.masked_fill_(t>0.4,0.2) (t.sum()*t) Square.apply(t) Double.apply(t)""".split()
MODES = ["torch.no_grad()", "torch.enable_grad()", "torch.no_grad(), torch.enable_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)",
         "torch.inference_mode(), torch.enable_grad()"]
PACKS = ["torch.autograd.graph.saved_tensors_hooks(as_it_is, lambda t: t)", "torch.autograd.graph.saved_tensors_hooks(shifted, unshifted)", "on_cpu()",
         "torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone().unsqueeze(0), lambda t: t.squeeze(0))"]
OPTIMIZERS = ["SGD({p}, lr=0.05)", "SGD({p}, lr=0.05, momentum=0.9, nesterov=True)", "Adam({p}, lr=0.02)", "AdamW({p}, lr=0.02)", "RMSprop({p}, lr=0.01)",
              "Adagrad({p}, lr=0.05)", "Adamax({p}, lr=0.01)", "NAdam({p}, lr=0.01)", "RAdam({p}, lr=0.01)", "Adadelta({p})", "ASGD({p})", "Rprop({p})",
              "SGD({p}, lr=0.05, foreach=True)", "Adam({p}, lr=0.02, amsgrad=True, weight_decay=0.1)", "SGD({p}, lr=0.05, weight_decay=0.1, maximize=True)"]


class WiderAuthor(Author):
    """Writes a program of this kind; half of them are looked at only when they have run."""

    def __init__(self, seed: int, torch: ModuleType) -> None:
        super().__init__(seed, torch)
        self.dtype = "float64"

    def write(self, length: int) -> list[str]:
        if self.random.random() < 0.35:
            self.say(f"{self.new()} = {self.fresh_complex(requires_grad=self.random.random() < 0.7)}")
        lines = super().write(length)
        return [BLIND, *lines] if self.random.random() < 0.5 else lines

    def kinds(self) -> dict[Any, int]:
        return {
            **super().kinds(),
            self.operation: 18,
            self.view: 12,
            self.write_in_place: 12,
            self.assign: 7,
            self.more: 10,
            self.write_more: 10,
            self.complex_operation: 6,
            self.complex_view: 6,
            self.complex_write: 6,
            self.ask: 12,
            self.run_backward: 10,
            self.hook: 8,
            self.node_hook: 4,
            self.change_gradient: 6,
            self.in_mode: 6,
            self.packed: 4,
            self.checkpoint: 5,
            self.custom: 6,
            self.several: 4,
            self.optimizer: 4,
            self.module: 4,
            self.leaf_changes: 3,
        }

    # --- what there is ---

    def complex_names(self, test: Any = lambda t: True) -> list[str]:
        return [n for n, t in self.machine.valid() if t.is_complex() and test(t)][-6:]

    def any_names(self, test: Any = lambda t: True) -> list[str]:
        return self.names(test) + self.complex_names(test)

    def leaves(self) -> list[str]:
        return self.any_names(lambda t: t.is_leaf and t.requires_grad)

    def fresh_complex(self, shape: tuple | None = None, requires_grad: bool = False) -> str:
        shape = self.random.choice([(), (2,), (3,), (2, 2), (2, 3)]) if shape is None else shape

        def fill(rest: tuple) -> Any:
            if rest:
                return [fill(rest[1:]) for _ in range(rest[0])]
            return complex(round(self.random.uniform(-1.5, 1.5), 3), round(self.random.uniform(-1.5, 1.5), 3))

        flag = ", requires_grad=True" if requires_grad else ""
        return f"torch.tensor({fill(shape)}, dtype=torch.complex128{flag})"

    def fresh_like(self, name: str) -> str:
        """A new tensor, or one that is there, of the shape and kind of another."""
        t = self.tensor(name)
        same = self.any_names(lambda o: o.shape == t.shape and o.dtype == t.dtype)
        if same and self.random.random() < 0.5:
            return f"apart({self.random.choice(same)})"
        return self.fresh_complex(tuple(t.shape)) if t.is_complex() else self.fresh(tuple(t.shape))

    # --- operations and writes ---

    def view_of(self, name: str) -> str:
        text = super().view_of(name)
        while name[0] == "g" and "as_strided" in text:  # the layout of a gradient is nobody's business
            text = super().view_of(name)
        return text

    def more(self) -> str:
        r, a = self.random, self.pick()
        rank = self.tensor(a).dim()
        if rank == 2 and r.random() < 0.35:
            text = r.choice(MATRIX).format(a=a)
        elif rank and r.random() < 0.5:
            text = r.choice(ALONG).format(a=a, d=r.randrange(-rank, rank))
        else:
            text = r.choice(MORE).format(a=a)
        return f"{self.new()} = {text}"

    def write_more(self) -> str:
        r, target = self.random, self.target()
        result = self.machine.value(target)
        if result is None or not result.is_floating_point() or not result.numel():
            return self.more()
        text = r.choice(WRITES)
        if text in WRITE_FORMS:
            return self.guarded(WRITE_FORMS[text].format(t=target))
        rank = result.dim()
        if not rank and ("{d}" in text or "[0]" in text):
            return self.write_in_place()
        d = r.randrange(-rank, rank) if rank else 0
        shape = tuple(result.shape)
        narrow = tuple(1 if i == d % rank else n for i, n in enumerate(shape)) if rank else ()

        def value(wanted: tuple) -> str:
            fitting = self.names(lambda t: tuple(t.shape) == wanted and not _on(t, result))
            return r.choice(fitting) if fitting and r.random() < 0.8 else self.fresh(wanted)

        words = {
            "s": value(shape), "n": value(narrow), "c0": value(shape[1:]), "o": value(()), "d": d, "m": f"{target}>0.2",
            "z": f"torch.zeros({shape}, dtype=torch.int64)" if r.random() < 0.5 else f"({target}>0).long()*0",
        }
        for key, word in words.items():
            text = text.replace("{" + key + "}", str(word))
        return self.guarded(f"{target}.{text}")

    def complex_name(self, test: Any = lambda t: True) -> str | None:
        names = self.complex_names(test)
        return self.random.choice(names) if names else None

    def complex_operation(self) -> str:
        r, a = self.random, self.complex_name()
        if a is None:
            return f"{self.new()} = {self.fresh_complex(requires_grad=r.random() < 0.6)}"
        if r.random() < 0.35:
            shape = tuple(self.tensor(a).shape)
            fitting = [n for n in self.any_names() if _broadcasts(shape, tuple(self.tensor(n).shape))]
            return f"{self.new()} = {r.choice(COMPLEX_BINARY).format(a=a, b=r.choice(fitting))}"
        text = r.choice(COMPLEX)
        text = COMPLEX_FORMS.get(text.rpartition(".")[2], text)
        return f"{self.new()} = {text.format(a=a)}"

    def complex_view(self) -> str:
        r, a = self.random, self.complex_name()
        if r.random() < 0.3 or a is None:
            b = self.names(lambda t: t.dim() and t.shape[-1] == 2 and t.stride(-1) == 1)
            if b:
                return f"{self.new()} = torch.view_as_complex({r.choice(b)})" if r.random() < 0.8 else f"{self.new()} = {r.choice(b)}.view(torch.complex128)"
            if a is None:
                return self.complex_operation()
        forms = COMPLEX_VIEWS + (["{a}[0]", "{a}[1:]", "{a}.flip(0)", "{a}.conj()[0]", "{a}.mH" if self.tensor(a).dim() == 2 else "{a}[-1]"]
                                 if self.tensor(a).dim() else [])
        return f"{self.new()} = {r.choice(forms).format(a=a)}"

    def complex_write(self) -> str:
        r = self.random
        a = self.complex_name(lambda t: not _refusing(t)) or self.complex_name()
        if a is None:
            return self.complex_operation()
        target = r.choice(["{a}", "{a}", "{a}", "{a}.conj()", "{a}.detach()", "{a}.data", "{a}.view(-1)", "{a}.real", "{a}.imag", "torch.view_as_real({a})",
                           "{a}.conj().imag", "{a}.conj().real", "{a}[0]", "{a}[...,:1]"]).format(a=a)
        result = self.machine.value(target)
        if result is None:
            return self.complex_operation()
        if not result.is_complex():
            return self.guarded(f"{target}.{r.choice(['mul_(2)', 'add_(1)', 'zero_()', 'sin_()', 'neg_()', 'square_().clamp_(0, 4)', 'fill_(0.5)'])}")
        shape = tuple(result.shape)
        fitting = [n for n in self.any_names() if _broadcasts_to(tuple(self.tensor(n).shape), shape) and _defined(self.tensor(n), result)]
        c = r.choice(fitting) if fitting and r.random() < 0.85 else self.fresh_complex(shape)
        if r.random() < 0.15 and shape:
            return self.guarded(f"{target}[0] = {r.choice(['2-1j', '0.5'])}")
        return self.guarded(f"{target}.{r.choice(COMPLEX_WRITES).format(c=c, t=target)}")

    def flag(self) -> str:
        line = super().flag()
        while "detach_" in line and "checkpointed" in "".join(self.lines):
            line = super().flag()
        return line

    # --- backward ---

    def roots(self, create_graph: bool) -> tuple[str, str] | None:
        """One or two outputs and their gradients, as lists. Gradients that have a graph go with create_graph."""
        r = self.random
        names = self.any_names(lambda t: t.requires_grad and t.numel())
        if not names:
            return None
        chosen = [r.choice(names) for _ in range(1 if r.random() < 0.75 else 2)]
        if r.random() < 0.5:
            return f"[{', '.join(f'weigh({n})' for n in chosen)}]", "None"
        given = [self.fresh_like(n) for n in chosen]
        if not create_graph:
            given = [g + ".detach()" if g.startswith("apart") else g for g in given]
        return f"[{', '.join(chosen)}]", f"[{', '.join(given)}]"

    def inputs(self, roots: str) -> str:
        """Not a root itself: its gradient is the one that was given, or in PyTorch a copy of it."""
        r = self.random
        others = [n for n in self.any_names(lambda t: t.requires_grad) if n not in roots[1:-1].split(", ")]
        others = others or self.any_names(lambda t: t.requires_grad)
        leaves = [n for n in self.leaves() if n in others]
        chosen = [r.choice(leaves if leaves and r.random() < 0.55 else others) for _ in range(r.choice([1, 1, 2, 3]))]
        return f"[{', '.join(chosen)}]"

    def ask(self) -> str:
        r = self.random
        create = r.random() < 0.6
        roots = self.roots(create)
        if roots is None:
            return self.constant()
        options = [o for o, p in [("create_graph=True", create), ("retain_graph=True", 0.8), ("allow_unused=True", 0.85), ("materialize_grads=True", 0.1)]
                   if r.random() < p]
        if "create_graph=True" in options and "retain_graph=True" in options and r.random() < 0.1:
            options[options.index("retain_graph=True")] = "retain_graph=False"
        if "materialize_grads=True" in options and "allow_unused=True" in options:
            options.remove("allow_unused=True")
        number = self.new()
        line = f"r{number} = taken({', '.join([roots[0], self.inputs(roots[0]), roots[1], *options])})"
        return f"{line}; g{number} = r{number}[0]" if r.random() < 0.6 else line

    def run_backward(self) -> str:
        r = self.random
        create = r.random() < 0.35
        roots = self.roots(create)
        if roots is None:
            return self.constant()
        options = [o for o, p in [("create_graph=True", create), ("retain_graph=True", 0.85), (f"inputs={self.inputs(roots[0])}", 0.3)] if r.random() < p]
        if roots[1] == "None" and r.random() < 0.5:
            return f"{roots[0][1:-1].split(', ')[0]}.backward({', '.join(options)})"
        return f"torch.autograd.backward({', '.join([*roots, *options])})"

    def change_gradient(self) -> str:
        r = self.random
        holders = [n for n, t in self.machine.valid() if t.is_leaf and t.requires_grad and t.grad is not None]
        if not holders:
            return self.run_backward()
        a, b = r.choice(holders), r.choice(holders)
        number = self.new()
        return r.choice([
            f"{a}.grad.mul_(2)", f"{a}.grad.add_(1)", f"{a}.grad.zero_()", f"{a}.grad = None", f"{a}.grad = {a}.grad.clone()", f"{a}.grad.detach_()",
            f"g{number} = {a}.grad", f"g{number} = {a}.grad * 2", f"g{number} = {a}.grad.detach()", f"with torch.no_grad(): {a}.grad.mul_(0.5)",
            f"torch.nn.utils.clip_grad_norm_([{a}, {b}], 0.7)", f"torch.nn.utils.clip_grad_value_([{a}], 0.4)", f"{a}.grad.requires_grad_()",
            f"weigh({a}.grad).backward()", f"weigh({a}.grad).backward(retain_graph=True)", f"{a}.grad.square_().sum().backward()",
            f"{a}.grad.data.mul_(3)", f"with torch.no_grad(): {a}.sub_({a}.grad, alpha=0.1)", f"{a}.grad = {a}.grad.detach()",
        ])

    # --- hooks ---

    def hook(self) -> str:
        r = self.random
        names = self.any_names(lambda t: t.requires_grad)
        handles = [n for n in self.machine.names if n.startswith("k") and hasattr(self.machine.names[n], "remove")]
        if handles and r.random() < 0.25:
            return f"{r.choice(handles)}.remove()"
        if not names:
            return self.constant()
        a, number = r.choice(names), self.new()
        forms = [
            f"k{number} = {a}.register_hook(note('{number}'))", f"k{number} = {a}.register_hook(lambda g: g * 2)", f"{a}.register_hook(scaled(3))",
            f"k{number} = {a}.register_hook(scaled(0.5, False))", f"{a}.retain_grad()", f"{a}.register_hook(lambda g: g.expand(g.shape))",
            f"{a}.register_hook(lambda g: {self.fresh_complex(tuple(self.tensor(a).shape)) if self.tensor(a).is_complex() else self.fresh(tuple(self.tensor(a).shape))})", f"{a}.register_hook(lambda g: g.detach())",
        ]
        leaves = self.leaves()
        if leaves:
            b = r.choice(leaves)
            forms += [f"k{number} = {b}.register_post_accumulate_grad_hook(lambda p: note('{number}')(p.grad))",
                      f"{b}.register_post_accumulate_grad_hook(grown(0.5))",
                      f"{b}.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))"]
        return r.choice(forms)

    def node_hook(self) -> str:
        r, number = self.random, self.new()
        names = [n for n in self.any_names(lambda t: t.grad_fn is not None) if n[0] != "g"]
        if not names:
            return self.hook()
        a = r.choice(names)
        node = f"{a}.grad_fn" if r.random() < 0.7 or "made(" in "".join(self.lines) else f"{a}.grad_fn.next_functions[0][0]"
        return r.choice([
            f"k{number} = {node}.register_prehook(note('{number}'))", f"{node}.register_prehook(scaled_all(2))",
            f"k{number} = {node}.register_hook(lambda i, o: note('{number}')(o))", f"{node}.register_hook(scaled_all(0.5))",
            f"k{number} = {node}.register_hook(note('{number}'))",
        ])

    # --- surroundings ---

    def simple(self) -> str:
        """A statement that may stand behind a with."""
        for _ in range(20):
            line = self.random.choice([self.operation, self.view, self.write_in_place, self.assign, self.more, self.write_more, self.complex_operation,
                                       self.complex_write, self.complex_view])()
            if not line.startswith("with"):
                return line
        return self.view()

    def in_mode(self) -> str:
        line = self.simple()
        while "requires_grad=True" in line or ".apply(" in line:      # which an inference tensor cannot mean, or does not heed
            line = self.simple()
        return f"with {self.random.choice(MODES)}: {line}"

    def packed(self) -> str:
        lines = self.simple()
        return f"with {self.random.choice(PACKS)}: {lines}"

    def body(self) -> str:
        steps = [f"lambda t: {self.random.choice(BODY)}" for _ in range(self.random.randint(1, 4))]
        return f"lambda p: chain({self.random.choice(BODY_START)}, {', '.join(steps)})"

    def checkpoint(self) -> str:
        r = self.random
        a = self.pick(lambda t: t.requires_grad and t.dim() > 0)
        reentrant = ", reentrant=True" if r.random() < 0.4 else ""
        return f"{self.new()} = checkpointed({self.body()}, {a}{reentrant})"

    def custom(self) -> str:
        r, a = self.random, self.pick()
        b = self.partner(a)
        n, m, k = self.new(), self.new(), self.new()
        shape = tuple(self.tensor(a).shape)
        fitting = [c for c in self.names(lambda t: _defined(t, self.tensor(a))) if _broadcasts_to(tuple(self.tensor(c).shape), shape)]
        forms = [f"{n} = Once.apply({a}, {b})", f"{n} = Whole.apply({a})", f"{n} = Part.apply({a})", f"{n}, {m}, {k} = Both.apply({a}, {r.random() < 0.5})",
                 f"{n} = Same.apply({a})", f"{n} = Exponential.apply({a})", f"{n} = Double.apply({a})", f"{n} = Square.apply({a})",
                 f"{n} = Double.apply({self.view_of(a)})"]
        if fitting:
            forms.append(f"{n}, {m} = AddTo.apply({a}, {r.choice(fitting)})")
        return r.choice(forms)

    def several(self) -> str:
        a = self.pick(lambda t: t.dim() and t.shape[0] >= 2)
        t = self.tensor(a)
        if not t.dim() or t.shape[0] < 2:
            return self.view()
        rest = "_" if t.shape[0] == 2 else "*_"
        return self.random.choice([
            f"{self.new()}, {self.new()} = {a}.split([1, {t.shape[0] - 1}])", f"{self.new()}, *_ = {a}.unbind()", f"{self.new()}, {rest} = {a}.chunk({t.shape[0]})",
            f"{self.new()}, {self.new()} = {a}.tensor_split(2)", f"{self.new()}, *_ = {a}", f"_, *_, {self.new()} = {a}.split(1)",
        ])

    def optimizer(self) -> str:
        r = self.random
        made = [n for n in self.machine.names if n.startswith("o") and hasattr(self.machine.names[n], "zero_grad")]
        if made and r.random() < 0.75:
            return f"{r.choice(made)}.{r.choice(['step()', 'step()', 'step()', 'zero_grad()', 'zero_grad(set_to_none=False)'])}"
        leaves = self.names(lambda t: t.is_leaf and t.requires_grad)
        if not leaves:
            return self.constant()
        chosen = list(dict.fromkeys(r.choice(leaves) for _ in range(2)))
        return f"o{self.new()} = torch.optim.{r.choice(OPTIMIZERS).format(p='[' + ', '.join(chosen) + ']')}"

    def module(self) -> str:
        r = self.random
        a = self.pick(lambda t: t.dim() >= 2)
        shape = tuple(self.tensor(a).shape)
        if len(shape) < 2:
            return self.more()
        last, number = shape[-1], self.new()
        # Not among them: LayerNorm, GroupNorm and BatchNorm, of which PyTorch's third derivatives are wrong; PReLU and RMSNorm,
        # which are other nodes inside.
        forms = [f"Linear({last}, 2)", f"GRU({last}, 2)", f"Sequential(torch.nn.Linear({last}, 3), torch.nn.ReLU(inplace=True))",
                 f"Bilinear({last}, {last}, 2)", f"LSTM({last}, 2)"]
        form = r.choice(forms)
        call = f"m{number}({a}, {a})" if "Bilinear" in form else f"m{number}({a})[0]" if form[:4] in ("GRU(", "LSTM") else f"m{number}({a})"
        weight = f"; p{number} = next(m{number}.parameters())"
        return f"m{number} = made(torch.nn.{form}){weight}; {self.new()} = {call}"

    def leaf_changes(self) -> str:
        r, number = self.random, self.new()
        a = self.pick()
        return r.choice([
            f"{number} = {a}.detach().requires_grad_()", f"{number} = {a}.clone().detach_()", f"{number} = torch.nn.Parameter({a}.detach())",
            f"with torch.no_grad(): {number} = {a}.view(-1)", f"{number} = {a}.data.requires_grad_()", f"{number} = {a}.detach()",
            f"{number} = {a}.new_tensor([1.0, 2.0]).requires_grad_()",
            # What is computed again for a checkpoint must find its inputs as they were.
            *([] if "checkpointed" in "".join(self.lines) else [f"{a}.requires_grad_(False)", f"{a}.detach_()"]),
        ])

    def ending(self) -> list[str]:
        """The gradients of some outputs for every leaf, some of them differentiated twice more; and a backward."""
        said = "\n".join(self.lines)
        leaves = ", ".join([n for n, t in self.machine.valid() if t.is_leaf and t.requires_grad and not t._is_view() and f"{n} = " in said])
        outputs = [n for n in self.any_names(lambda t: t.requires_grad and not t.is_leaf) if f"{n} = " in said or f"{n}, " in said][-4:]
        lines = []
        for i, name in enumerate(outputs):
            depth = self.random.choice([1, 1, 2, 3])
            options = "create_graph=True" if depth > 1 else "retain_graph=True"
            lines.append(f"r{i} = taken(weigh({name}), [{leaves}], allow_unused=True, {options})")
            if depth > 1:
                lines.append(f"s{i} = again(r{i}, [{leaves}], create_graph={depth > 2})")
            if depth > 2:
                lines.append(f"t{i} = again(s{i}, [{leaves}])")
        if outputs:
            lines.append(f"weigh({self.random.choice(outputs)}).backward()")
        return lines
