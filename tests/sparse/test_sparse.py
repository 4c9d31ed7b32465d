"""Sparse tensors: nothing that does not know them computes with them; copies, pickles, hooks, second derivatives."""
from __future__ import annotations

import copy
import pickle

import pytest

import claygrad
from claygrad.core import Op
from claygrad.ops._registry import METHODS, NAMESPACES


def sparse(*shape: int) -> claygrad.Tensor:
    return claygrad.ones(*shape).to_sparse()


KINDS = {"coordinates": lambda: sparse(2, 2), "rows": lambda: sparse(2, 2).to_sparse_csr(), "one element": lambda: sparse(1, 1),
         "empty": lambda: claygrad.sparse_coo_tensor((2, 2)), "a vector": lambda: sparse(1), "no axes": lambda: claygrad.tensor(1.0).to_sparse()}
ARGUMENTS = [(), (1,), (0, 0), (0, 0, 1), ((2, 2),), (0.5,), (claygrad.ones(2, 2),), (claygrad.ones(1, 1),),
             (claygrad.ones(2, 2), claygrad.ones(2, 2)), (0, claygrad.tensor([0])), (claygrad.tensor([0]),),
             (0, claygrad.tensor([[0]]), claygrad.ones(1, 1)), (claygrad.float64,), ("sparse",), ("sparse", "sparse")]
ENDLESS = {"retain_grad", "register_hook", "register_post_accumulate_grad_hook", "backward"}
CALLABLE = sorted({name for name, made in METHODS.items() if callable(made)} - ENDLESS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLABLE)
def test_methods_answer_or_refuse(name, kind):
    for given in ARGUMENTS:
        x = KINDS[kind]()
        arguments = [KINDS[kind]() if one == "sparse" and isinstance(one, str) else one for one in given]
        try:
            made = METHODS[name](x, *arguments)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError, AssertionError):
            continue
        for one in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(one, claygrad.Tensor):
                repr(one)                                  # what came out can be read
                assert one.device.type in ("cpu", "meta")


@pytest.mark.parametrize("space", NAMESPACES)
def test_functions_answer_or_refuse(space):
    for name, function in NAMESPACES[space].items():
        if not isinstance(function, Op):
            continue
        for given in ((), (1,), (0, 1), (claygrad.ones(2, 2),), (claygrad.ones(2, 2), claygrad.ones(2, 2))):
            for arguments in ((sparse(2, 2), *given), ([sparse(2, 2), sparse(2, 2)], *given),
                              (claygrad.ones(2, 2), sparse(2, 2), *given)):
                try:
                    made = function(*arguments)
                except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError, AssertionError):
                    continue
                assert repr(made), name


def test_a_matrix_of_one_element_is_not_written_through():
    x = sparse(1, 1)
    for write in (x.uniform_, x.normal_, lambda: x.fill_(3), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises((RuntimeError, NotImplementedError)):
            write()
    assert x.to_dense().tolist() == [[1.0]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(kind, way):
    x = KINDS[kind]()
    assert repr(way(x)) == repr(x)
    kept = claygrad.nn.Parameter(x)
    assert type(way(kept)) is claygrad.nn.Parameter
    assert repr(way(kept).detach()) == repr(x)


def test_saved_values_are_kept_when_a_sparse_tensor_is_written():
    values = claygrad.tensor([2.0, 3.0], requires_grad=True)
    x = claygrad.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2))
    b = claygrad.eye(2).requires_grad_()
    y = x @ b
    x.detach().mul_(7)
    with claygrad.no_grad():
        x.zero_()
    y.sum().backward()
    assert b.grad.tolist() == [[3.0, 3.0], [2.0, 2.0]]
    assert values.grad.tolist() == [1.0, 1.0]


def test_hooks_get_the_sparse_gradient():
    heard = []
    table = claygrad.nn.Embedding(4, 2, sparse=True)
    table.weight.register_hook(lambda g: heard.append(g.layout))
    table.weight.register_post_accumulate_grad_hook(lambda p: heard.append(p.grad.is_sparse))
    table(claygrad.tensor([1, 2])).sum().backward()
    assert heard == [claygrad.sparse_coo, True]
    (g,) = claygrad.autograd.grad(table(claygrad.tensor([3])).sum(), table.weight)
    assert g.is_sparse


def test_first_and_second_derivatives():
    at = claygrad.tensor([[0, 1, 1], [2, 0, 2]])
    values = claygrad.tensor([1.0, 2.0, 3.0], dtype=claygrad.float64, requires_grad=True)
    b = claygrad.randn(3, 2, dtype=claygrad.float64, requires_grad=True)
    functions = [lambda v, b: claygrad.sparse.mm(claygrad.sparse_coo_tensor(at, v, (2, 3)), b),
                 lambda v, b: claygrad.sparse_coo_tensor(at, v, (2, 3)).sin().to_dense() @ b,
                 lambda v, b: claygrad.sparse.softmax(claygrad.sparse_coo_tensor(at, v, (2, 3)), 1) @ b,
                 lambda v, b: (claygrad.sparse_coo_tensor(at, v, (2, 3)) * b.t()).to_sparse_csr() @ b]
    for function in functions:
        assert claygrad.autograd.gradcheck(function, (values, b))
        assert claygrad.autograd.gradgradcheck(function, (values, b))


def test_modules_with_sparse_buffers():
    class Graph(claygrad.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("edges", claygrad.eye(3).to_sparse())
            self.layer = claygrad.nn.Linear(2, 2)

        def forward(self, x: claygrad.Tensor) -> claygrad.Tensor:
            return self.edges @ self.layer(x)

    model = Graph().double()
    assert model.edges.dtype is claygrad.float64
    model(claygrad.ones(3, 2, dtype=claygrad.float64)).sum().backward()
    other = Graph().double()
    other.load_state_dict(model.state_dict())
    assert repr(other.edges) == repr(model.edges)


def test_invariants_are_checked_when_asked():
    bad = ([[0, 5]], [1.0, 2.0], (3,))
    claygrad.sparse_coo_tensor(*bad)
    with claygrad.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="size is inconsistent"):
        claygrad.sparse_coo_tensor(*bad)
    assert not claygrad.sparse.check_sparse_tensor_invariants.is_enabled()
    with pytest.raises((RuntimeError, IndexError)):
        claygrad.sparse_coo_tensor(*bad).to_dense()          # never read outside of its memory
    with pytest.raises((RuntimeError, IndexError)):
        claygrad.sparse_coo_tensor([[0, 7], [0, 9]], [1.0, 2.0], (2, 2)) @ claygrad.ones(2, 2)


def test_sparse_tensors_are_indexed_while_and_after_others_listen() -> None:
    """Observers and subclasses exchange the functions behind `x[key]`; sparse tensors must stay among what they know."""
    x = claygrad.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]).to_sparse()

    class Sub(claygrad.Tensor):
        pass

    with claygrad.profiler.profile():
        assert x[1].to_dense().tolist() == [4.0, 0.0, 5.0]
    assert x[1].to_dense().tolist() == [4.0, 0.0, 5.0]
    assert (claygrad.ones(3).as_subclass(Sub) + 1)[0] == 2
    assert x[0].to_dense().tolist() == [0.0, 0.0, 3.0]


SEEN = {"coalesce": lambda x: x.coalesce().indices(), "indices": lambda x: x._indices(), "values": lambda x: x._values(),
        "rows": lambda x: x.to_sparse_csr().crow_indices(), "to_dense": lambda x: x.to_dense(), "sum": lambda x: x.sum(),
        "t": lambda x: x.t().to_dense(), "matmul": lambda x: x @ x.to_dense().t(), "abs": lambda x: x.abs().to_dense(),
        "add": lambda x: (x + x).to_dense(), "nnz": lambda x: x._nnz(), "dims": lambda x: (x.sparse_dim(), x.dense_dim()),
        "repr": repr, "clone": lambda x: x.clone().to_dense()}


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("where", ["forward mode", "dispatch mode", "function mode", "nans", "memory", "profiler"])
def test_whoever_watches_sparse_tensors_stay_sparse(where, name):
    """A composite that nobody answers is run as for any other caller: by what sparse tensors do."""
    lib = claygrad

    class Dispatch(lib.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    watch = {"forward mode": lib.autograd.forward_ad.dual_level, "dispatch mode": Dispatch, "nans": lib.debug.trace_nans,
             "function mode": lib.overrides.BaseTorchFunctionMode, "memory": lib.debug.memory, "profiler": lib.profiler.profile}[where]
    x = lib.sparse_coo_tensor(lib.tensor([[0, 1, 1], [2, 0, 2]]), lib.tensor([1.0, 2.0, 3.0]), (2, 3))
    expected = SEEN[name](x)
    with watch():
        got = SEEN[name](x)
    assert got.tolist() == expected.tolist() if isinstance(got, lib.Tensor) else got == expected


def test_dense_tensors_are_not_joined_with_sparse_ones():
    sparse, dense = claygrad.eye(3).to_sparse(), claygrad.eye(3)
    for join in (claygrad.cat, claygrad.stack):
        for i, tensors in enumerate([(dense, sparse), (sparse, dense), (sparse, sparse, dense)]):
            with pytest.raises(RuntimeError, match=f"Concatenating sparse tensors, but a dense tensor was found at position {i}."):
                join(tensors)
