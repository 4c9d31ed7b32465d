"""What random programs may use besides the library, by name, as text: every library gets its own.

What PyTorch does not promise and claygrad does is written out for PyTorch here, so that it can be the standard: `PYTORCH` is true
there. A gradient that is handed out has memory of its own (`taken`, `scaled`), a packed tensor keeps its value (`as_it_is`), and
a part that is computed again computes what it did the first time (`checkpointed`).
"""

from __future__ import annotations

HELPERS = {
    "Square": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
""",
    "Double": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2
""",
    "weigh": """
def weigh(t):
    if t.is_complex():
        t = torch.view_as_real(t.resolve_conj())
    return (t * ((torch.arange(t.numel(), dtype=t.dtype) + 1) / 4).reshape(t.shape)).sum()
""",
    "again": """
def again(gradients, leaves, **options):
    terms = [weigh(g) for g in gradients if g is not None and g.requires_grad]
    return torch.autograd.grad(terms, leaves, allow_unused=True, retain_graph=True, **options) if terms else ()
""",
    "PYTORCH": """
PYTORCH = torch.__name__ == "torch"
""",
    "taken": """
def taken(outputs, inputs, given=None, **options):
    gradients = torch.autograd.grad(outputs, inputs, given, **options)
    new = [g is not None and g.is_leaf and g.requires_grad and not any(g is x for x in given or ()) for g in gradients]
    return tuple([g.clone() if g is not None and not n and (PYTORCH or not g.is_inference() and g._version) else g for g, n in zip(gradients, new)])
""",
    "apart": """
def apart(t):
    return t.clone() if PYTORCH else t
""",
    "Exponential": """
class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.clamp(-1, 1).exp()
        ctx.save_for_backward(out, x)
        return out

    @staticmethod
    def backward(ctx, g):
        out, x = ctx.saved_tensors
        return g * out * (x.abs() < 1)
""",
    "Once": """
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g * y).sum_to_size(x.shape), (g * x).sum_to_size(y.shape)
""",
    "Whole": """
class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return (g * 3).view(ctx.needs_input_grad and g.shape)
""",
    "Part": """
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x[..., :1]

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape) * 2
""",
    "Both": """
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.set_materialize_grads(keep)
        signs = x.detach() > 0
        ctx.mark_non_differentiable(signs)
        ctx.save_for_backward(signs, None)
        return x * 2, signs, x.sin()

    @staticmethod
    def backward(ctx, g, none, h):
        signs, _ = ctx.saved_tensors
        total = 0
        if g is not None:
            total = total + g * 2
        if h is not None:
            total = total + h * signs
        return (total if isinstance(total, torch.Tensor) else None), None
""",
    "Same": """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3
""",
    "AddTo": """
class AddTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.shape = y.shape
        x.add_(y)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x, y * 2

    @staticmethod
    def backward(ctx, g, h):
        x, = ctx.saved_tensors
        return g, (g * 1).sum_to_size(ctx.shape) + 2 * h
""",
    "note": """
log = []


def note(name):
    def hook(*seen):
        log.append((name, [[None if g is None else g.detach().clone() for g in gs] if isinstance(gs, (tuple, list)) else
                           gs.detach().clone() for gs in seen]))
    return hook
""",
    "scaled": """
def scaled(by, give=True):
    def hook(g):
        if g is None:
            return None
        if PYTORCH or 0 in g.stride():
            return g.clone().mul_(by)
        g.mul_(by)
        return g if give else None
    return hook
""",
    "scaled_all": """
def scaled_all(by):
    def hook(*gs):
        return tuple([None if g is None else g * by for g in gs[0]])
    return hook
""",
    "grown": """
def grown(by):
    def hook(p):
        with torch.no_grad():
            p.grad.mul_(by)
            p.add_(p.grad, alpha=0.01)
    return hook
""",
    "as_it_is": """
def as_it_is(t):
    return t.clone() if PYTORCH else t
""",
    "on_cpu": """
def on_cpu():
    return torch.enable_grad() if PYTORCH else torch.autograd.graph.save_on_cpu()
""",
    "shifted": """
def shifted(t):
    return (t + 1, True) if t.is_floating_point() or t.is_complex() else (t.clone(), False)


def unshifted(packed):
    return packed[0] - 1 if packed[1] else packed[0]
""",
    "checkpointed": """
def checkpointed(body, *args, reentrant=False):
    if PYTORCH and not reentrant:
        return body(*args)
    return torch.utils.checkpoint.checkpoint(body, *args, use_reentrant=reentrant)
""",
    "made": """
def made(module, seed=1.0):
    module = module.double()
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(((torch.arange(p.numel(), dtype=p.dtype) + seed + k) * 1.7).sin().reshape(p.shape) * 0.7)
    return module
""",
    "chain": """
def chain(start, *steps):
    for step in steps:
        out = step(start)
        start = start if out is None else out
    return start
""",
}
