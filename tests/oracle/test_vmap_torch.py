"""vmap and PyTorch's: values, shapes and dtypes, and what is refused in which words."""
import warnings

import pytest

import claygrad
from tests.ops.cases import difference

torch = pytest.importorskip("torch")

PROGRAMS = {
    "one number per example beside a tensor": "v(lambda a, b: a * b)(X, D[:, 0])",
    "numbers of ints": "v(lambda a, b: a + b)(I.to(L.int8), I[:, 0])",
    "matrices": "v(lambda a, b: a @ b)(M, M.mT)",
    "one matrix": "v(lambda a: a @ M[0])(M)",
    "vectors": "v(lambda a: M[0] @ a)(X)",
    "dot": "v(L.dot)(X, X)",
    "outer axis": "v(lambda a: a.cumsum(0), in_dims=1, out_dims=1)(X)",
    "reductions": "v(lambda a: (a.sum(), a.mean(-1), a.var(), a.amax(0), a.argmax(), a.logsumexp(-1), a.norm()))(M)",
    "sorting": "v(lambda a: a.sort(descending=True))(X)",
    "best": "v(lambda a: a.topk(2).values)(X)",
    "views": "v(lambda a: (a.t(), a[None], a.flatten(), a.view(-1, 1), a.expand(2, 3, 3), a.diagonal(), a.unfold(0, 2, 1)))(M)",
    "parts": "v(lambda a: a.split([1, 2]) + tuple(a.unbind(1)) + tuple(a.chunk(2)))(M)",
    "indices": "v(lambda a, i: (a[i], a[:, i], a[i, i], a.index_select(0, i), a.gather(0, i[:, None])))(M, I)",
    "indices of all": "v(lambda i: M[0][i])(I)",
    "written": "v(lambda a, i: L.zeros_like(a).scatter_add_(0, i, a))(X, I)",
    "assigned": "v(lambda a: put(a.clone(), a.sum()))(X)",
    "chosen": "v(lambda a: L.where(a > 0, a, 2.0))(X)",
    "joined": "v(lambda a, b: (L.cat([a, b[0]]), L.stack([a, X[0]])))(X, M)",
    "einsum": "v(lambda a: L.einsum('ij,jk->ik', a, M[1]))(M)",
    "solved": "v(L.linalg.solve)(M + 4 * L.eye(3), M)",
    "inverse": "v(lambda a: (L.linalg.inv(a), L.linalg.det(a), L.linalg.slogdet(a)))(M + 4 * L.eye(3))",
    "softmax": "v(lambda a: (a.softmax(0), a.log_softmax(-1)))(M)",
    "layer norm": "v(lambda a: F.layer_norm(a, (3,), X[0], X[1]))(M)",
    "convolution": "v(lambda a: F.conv1d(a[None], K))(M)",
    "kernels": "v(lambda k: F.conv1d(M, k))(K[None] * L.arange(1., 4.)[:, None, None, None])",
    "pictures": "v(lambda a: F.max_pool2d(F.interpolate(a[None, None], scale_factor=2), 2))(M)",
    "losses": "v(lambda a, i: (F.cross_entropy(a, i), F.mse_loss(a, a * 2), F.nll_loss(a.log_softmax(1), i)))(M, I)",
    "embeddings": "v(lambda i: F.embedding(i, M[0]))(I)",
    "tables": "v(lambda w: F.embedding(I[0], w))(M)",
    "attention": "v(lambda a: F.scaled_dot_product_attention(a[None], a[None], a[None]))(M)",
    "padded": "v(lambda a: F.pad(a, (1, 2)))(M)",
    "dropped": "v(lambda a: a, randomness='different')(X)",
    "drawn": "v(lambda a: L.randn(2, 2), randomness='different')(X)",
    "drawn alike": "v(lambda a: L.rand(2), randomness='same')(X)",
    "like": "v(lambda a: L.rand_like(a), randomness='different')(X)",
    "chunks": "v(lambda a: a * 2, chunk_size=2)(X)",
    "nested": "v(v(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(X[:, 0], X[:, 1])",
    "gradients": "v(func.grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))(M[0], X)",
    "gradients and values": "v(func.grad_and_value(lambda a: a.square().sum()))(X)",
    "Jacobians": "v(func.jacrev(lambda a: (M[0] @ a).sin()))(X)",
    "forward": "v(func.jacfwd(lambda a: (M[0] @ a).sin()))(X)",
    "Hessians": "v(func.hessian(lambda a: (M[0] @ a).sin().prod()))(X)",
    "pushed": "v(lambda a, t: func.jvp(L.sin, (a,), (t,)))(X, X)",
    "pulled": "v(func.vjp(lambda a: (M[0] @ a).sin(), X[0])[1])(M[1])",
    "around": "func.jacrev(v(lambda a: a.prod()))(X)",
    "partial": "v(L.func.functional_call if False else (lambda a, *, k: a * k))(X, k=3)",
    "no tensor": "v(lambda a: 3)(X)",
    "no input": "v(L.sin)()",
    "sizes": "v(L.add)(X, M[:2])",
    "axis": "v(L.sin, in_dims=5)(X)",
    "axes": "v(L.add, in_dims=(0, 0, 0))(X, X)",
    "kind of axes": "v(L.sin, in_dims='a')(X)",
    "not a tensor": "v(lambda a, b: a)(X, 3)",
    "nothing mapped": "v(L.sin, in_dims=None)(X)",
    "outputs": "v(lambda a: (a, a), out_dims=(0, 0, 0))(X)",
    "kind of outputs": "v(L.sin, out_dims='a')(X)",
    "kept": "v(lambda a: a, out_dims=None)(X)",
    "random": "v(lambda a: L.randn(2))(X)",
    "dropout": "v(lambda a: F.dropout(a))(X)",
    "mode": "v(L.sin, randomness='x')(X)",
    "chunk": "v(L.sin, chunk_size=0)(X)",
    "branch": "v(lambda a: a if a.sum() > 0 else -a)(X)",
    "item": "v(lambda a: a.sum().item())(X)",
    "shape that is not known": "v(L.nonzero)(X)",
}


def _run(lib, text):
    lib.manual_seed(0)

    def put(a, value):
        a[1] = value
        return a

    names = {"L": lib, "F": lib.nn.functional, "func": lib.func, "v": lib.vmap, "put": put,
             "X": lib.linspace(-1, 2, 9).reshape(3, 3), "M": lib.linspace(0.1, 1.7, 27).reshape(3, 3, 3).sin(),
             "D": lib.linspace(-1, 2, 9, dtype=lib.float64).reshape(3, 3), "I": lib.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 0]]),
             "K": lib.linspace(-1, 1, 12).reshape(2, 3, 2)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(text, names)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_program(name: str) -> None:
    mine, theirs = _run(claygrad, PROGRAMS[name]), _run(torch, PROGRAMS[name])
    problem = difference(mine, theirs, 4)
    assert problem is None, problem
