"""Programs of many small steps on a few tensors: each is nearly legal, but finds them as the steps before it left them."""

from __future__ import annotations

import re
from random import Random

_NAMES = "abcd"

# Where a step says A, B or C, one of the tensors stands; N is a small number, D an axis, S a shape, K a key, F a function of one tensor.
_STEPS = """
A = B
A = B
A = B[K]
A = B[K]
A = B.view(-1)
A = B.view(S)
A = B.reshape(S)
A = B.t()
A = B.transpose(D, D)
A = B.unsqueeze(D)
A = B.expand(S)
A = B.unfold(D, N, 1)
A = B.as_strided((N, N), (1, N), N)
A = B.diagonal()
A = B.detach()
A = B.data
A = B.conj()
A = B.real
A = B.imag
A = torch.view_as_real(B)
A = torch.view_as_complex(B)
A = B.view(torch.int32)
A = B.view(torch.uint8)
A = B.view(torch.complex64)
A = B.split(1, D)[0]
A, C = B.chunk(2, D)
A, C = B.unbind(D)
A = torch.from_numpy(B.detach().numpy())
A = torch.from_dlpack(B.detach())
A = torch.utils.dlpack.from_dlpack(B.detach().__dlpack__())
A = torch.asarray(B.detach().numpy()[::-1])
A = torch.tensor(B.tolist())
A = B.grad
A = B._base
A = F(B)
A = F(B)
A = F(B)
A = F(B) * C
A = B * C
A = B @ C
A = torch.cat([B, C])
A = torch.where(B > 0, B, C)
A = B.gather(D, C.long())
A = B[C.long()]
A = t(S)
A = leaf(S)
A = inner(S)
A = t(S, dtype='complex64')
A = t(S, dtype='float64')
A = ints(S)
A = none(N, 0)
A = wide(B, N)
A = sub(B)
A = wrapper(B)
A = dual(B)
A = coo(2, 3, None, B)
A = B.to_sparse()
A = B.to_dense()
A = A.coalesce().values()
A = inferred(N, N)
A = meta(S)
A = B.to('meta')
A = nn.Parameter(B)
A = B.clone()
A = copy.copy(B)
A = copy.deepcopy(B)
A = repickled(B)
A = B.contiguous()
A = B.to(torch.float64)
A = torch.empty_like(B)
A = torch.autograd.grad(B.sum(), C, create_graph=True, allow_unused=True)[0]
A = torch.autograd.grad(B.sum(), [C, A], retain_graph=True, allow_unused=True)[0]
A = torch.func.vmap(lambda x: F(x))(B)
A = torch.func.grad(lambda x: (F(x) * x).sum())(B)
A = torch.func.jvp(lambda x: F(x), (B,), (C,))[1]
A = torch.func.vjp(lambda x: F(x), B)[1](C)[0]
A = torch.utils.checkpoint.checkpoint(lambda x: F(x) * C, B, use_reentrant=False)
A = torch.utils.checkpoint.checkpoint(lambda x: F(x) * C, B, use_reentrant=True)
A = function(lambda x, y: (x.save_for_backward(y, C), y * 2)[1], lambda x, g: g * x.saved_tensors[1]).apply(B)
A = function(lambda x, y: (x.mark_dirty(y), y.mul_(2))[1], lambda x, g: g).apply(B)
A = function(lambda x, y: y.view(-1), lambda x, g: C).apply(B)
A = within(torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: C), lambda: F(B))
A = within(torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), lambda x: x.resize_(N)), lambda: F(B) * B)
A = within(torch.autograd.graph.allow_mutation_on_saved_tensors(), lambda: F(B).mul_(C))
A = within(torch.no_grad(), lambda: B[K])
A = within(torch.inference_mode(), lambda: B[K])
A = within(torch.inference_mode(), lambda: F(B))
A = within(torch.no_grad(), lambda: B.view(S))
A.data = B
A.data = B.data
A.grad = B
A.grad = B.detach()
A.grad = None
A.set_(B)
A.set_(B.untyped_storage())
A.set_(B.untyped_storage(), N, (N, N), (N, 1))
A.set_()
A.resize_(S)
A.resize_as_(B)
A.untyped_storage().resize_(N)
A.untyped_storage().resize_(1000)
A.untyped_storage().copy_(B.untyped_storage())
A.untyped_storage().fill_(255)
A.detach().resize_(S)
A.t_()
A.squeeze_()
A.unsqueeze_(D)
A.transpose_(D, D)
A.as_strided_((N, N), (N, 1), N)
A.detach_()
A.requires_grad_()
A.requires_grad = False
A.share_memory_()
A.copy_(B)
A.add_(B)
A.mul_(B)
A.fill_(N)
A.zero_()
A[K] = B
A[K] = N
A[K] += 1
A[K].mul_(B)
A.index_put_((B.long(),), C, accumulate=True)
A.index_add_(D, B.long(), C)
A.index_copy_(D, B.long(), C)
A.scatter_(D, B.long(), C)
A.masked_fill_(B > 0, N)
A.masked_scatter_(B > 0, C)
A.exp_().sin_()
A.real = 0
A.addmm_(B, C)
A.__class__ = Sub
torch.add(A, B, out=C)
torch.mul(A, B, out=A)
torch.matmul(A, B, out=C)
torch.cat([A, B], out=C)
torch.sort(A, out=(B, C.long()))
torch.index_select(A, D, B.long(), out=C)
torch.utils.swap_tensors(A, B)
torch._foreach_add_([A, B], [C, C])
torch._foreach_mul_([A, B], 2)
within(torch.no_grad(), lambda: A.add_(B))
within(torch.no_grad(), lambda: A.copy_(B))
within(torch.no_grad(), lambda: A.resize_(S))
within(torch.no_grad(), lambda: A.set_(B))
within(torch.no_grad(), lambda: A.t_())
within(torch.inference_mode(), lambda: A.add_(B))
A.sum().backward()
A.sum().backward(retain_graph=True)
A.sum().backward(create_graph=True)
A.backward(B)
A.backward(B, inputs=[C], retain_graph=True)
A.retain_grad()
A.register_hook(lambda g: g * B)
A.register_hook(lambda g: g.mul_(B))
A.register_hook(lambda g: (A.detach().resize_(0), g)[1])
A.register_hook(lambda g: (B.data, setattr(B, 'data', C))[0])
A.register_hook(lambda g: C)
A.register_hook(lambda g: g.set_(C))
A.register_hook(lambda g: (A.sum().backward(retain_graph=True), g)[1])
A.register_post_accumulate_grad_hook(lambda p: p.detach().add_(p.grad))
A.grad_fn.register_hook(lambda i, o: (B,) * len(i))
A.grad_fn.register_prehook(lambda o: (B,) * len(o))
A.grad_fn(B)
A.grad_fn._saved_self.resize_(0)
A.grad_fn._saved_result.set_(B)
A.grad_fn.next_functions[0][0].variable.data = B
A.attr = B
B.attr = Late('collect')
torch.optim.SGD([A], lr=0.1, momentum=0.9).step()
torch.optim.Adam([A]).step()
o = torch.optim.Adam([A]); o.step(); A.data = B; A.grad = C; o.step()
nn.utils.clip_grad_norm_([A, B], 1.0)
nn.utils.vector_to_parameters(A, [B, C])
m = nn.Linear(3, 2); m.weight = A; m(B).sum().backward()
m = nn.Linear(3, 2); m.weight.data = A; m(B).sum().backward(); A = m.weight
race(lambda: A.resize_(S), lambda: F(A), lambda: A.add_(B))
race(lambda: setattr(A, 'data', B), lambda: A * C, lambda: A.sum().backward())
s = A.untyped_storage(); del A; s.resize_(N); s.tolist()
x = A.numpy(); A.resize_(1000); x.sum()
x = A.numpy(); del A; x.sum()
x = A.__dlpack__(); A.untyped_storage().resize_(0); A = torch.from_dlpack(x)
v = memoryview(A.detach().numpy()); A.untyped_storage().resize_(0); v.tobytes()
it = iter(A); A.resize_(0); list(it)
it = iter(A); A.set_(B); next(it)
look(A)
repr(A)
A.tolist()
A.item()
del A
EFFECTS['collect']()
"""

STEPS = _STEPS.strip().splitlines()

_FUNCTIONS = ("sin exp tanh relu abs sqrt neg cumsum(0) cumprod(0) sum prod mean max(0)[0] min(-1)[0] sort(0)[0] softmax(-1) clone T flatten "
              "std norm view(-1) squeeze transpose(0,-1) roll(1) flip(0) tril diag kthvalue(1)[0] median(0)[0] logsumexp(0) expand(2,2,3) "
              "repeat(2) mul_(2) exp_ add_(1) sort(-1)[1] argmax unique nonzero topk(1)[0] log_softmax(0) pow(2) pow_(2) tanh_ t real conj "
              "contiguous double half bfloat16 long bool to_sparse numpy item tolist amax(0) var(0) cummax(0)[0] logcumsumexp(0) "
              "masked_fill(torch.tensor(True),0) index_select(0,torch.tensor([0])) unbind()[0] chunk(2)[0] renorm(2,0,1) trace det inverse").split()
_KEYS = ("0", "-1", "1:", ":1", "::2", "...", "None", "True", "[0]", "[0, 1]", ":, 0", ":, 1:", "0, 0", "ints(2)", "[[True, False]]", "..., :2", "5:2")
_SHAPES = ("3", "2, 3", "6", "3, 2", "1", "0", "2, 2", "1, 6", "2, 1, 3", "300", "30, 30", "-1", "2, 0")
_AXES = ("0", "1", "-1", "0", "2")
_NUMBERS = ("0", "1", "2", "3", "4", "8", "12", "24", "100")


def _called(function: str, on: str) -> str:
    return f"{on}.{function}" if function.endswith((")", "]", "T", "real", "_()")) else f"{on}.{function}()"


def filled(step: str, rng: Random) -> str:
    """The step with everything in it that stands for something else replaced."""
    names = dict(zip("ABC", rng.choices(_NAMES, k=3), strict=True))
    choices = {"S": _SHAPES, "K": _KEYS, "D": _AXES, "N": _NUMBERS}
    step = re.sub(r"\bF\((\w+)\)", lambda found: _called(rng.choice(_FUNCTIONS), found[1]), step)
    return re.sub(r"\b[ABCSKDN]\b", lambda found: names.get(found[0]) or rng.choice(choices[found[0]]), step)


def history(rng: Random) -> str:
    """A program of such steps. One that raises does not end it."""
    lines = ["copy = __import__('copy')", "a, b, c, d = t(2, 3), leaf(2, 3), inner(2, 3), t(6)"]
    for _ in range(rng.randrange(4, 20)):
        step = filled(rng.choice(STEPS), rng).replace("; ", "\n    ")
        lines.append(f"try:\n    {step}\nexcept Exception:\n    pass")
    return "\n".join([*lines, "a, b, c, d"])
