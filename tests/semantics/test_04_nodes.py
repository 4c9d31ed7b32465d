"""Section 4: graph nodes, their names, edges, saved values and lifetime."""

from __future__ import annotations

import gc
import re
import weakref

import pytest

from tests.support import backward_name, close, leaf, raises, renamed
from tests.support.messages import TWICE


def test_a_node_prints_names_and_types_itself(lib):
    x, w = leaf(lib, [1.0]), lib.ones(1)
    y = x * w
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr(y.grad_fn))
    assert type(y.grad_fn).__name__ == "MulBackward0"
    assert y.grad_fn.name() == "MulBackward0"
    assert isinstance(y.grad_fn, lib.autograd.graph.Node)


def test_a_node_is_the_same_object_on_every_access(lib):
    y = leaf(lib, [1.0]) * 2
    assert y.grad_fn is y.grad_fn
    assert y.exp().grad_fn.next_functions[0][0] is y.grad_fn


def test_next_functions_name_the_inputs_that_require_grad(lib):
    x, w = leaf(lib, [1.0]), lib.ones(1)
    (node, number), constant = (x * w).grad_fn.next_functions
    assert (node.name(), number) == ("torch::autograd::AccumulateGrad", 0)
    assert constant == (None, 0)
    assert (x * 2).grad_fn.next_functions[1] == (None, 0)


def test_a_square_by_product_has_the_same_leaf_edge_twice(lib):
    x = leaf(lib, [1.0])
    (first, _), (second, _) = (x * x).grad_fn.next_functions
    assert first is second


def test_the_leaf_edge_knows_its_variable_and_ends_there(lib):
    x = leaf(lib, [1.0])
    y = x * 1
    node = y.grad_fn.next_functions[0][0]
    assert re.match(r"<AccumulateGrad object at 0x[0-9a-f]+>", repr(node))
    assert type(node).__name__ == "AccumulateGrad"
    assert node.name() == "torch::autograd::AccumulateGrad"
    assert node.variable is x
    assert node.next_functions == ()
    assert x.exp().grad_fn.next_functions[0][0] is node


def test_metadata_is_a_dict_the_user_may_write(lib):
    node = (leaf(lib, [1.0]) * 2).grad_fn
    assert node.metadata == {}
    node.metadata["note"] = 5
    assert node.metadata == {"note": 5}


def test_the_outputs_of_one_operation_share_a_node_and_differ_in_number(lib):
    y = leaf(lib, [1.0, 2.0, 3.0, 4.0]) * 1
    p, q = y.split(2)
    assert p.grad_fn.name() == q.grad_fn.name() == "SplitBackward0"
    assert (p.output_nr, q.output_nr) == (0, 1)
    values, indices = y.max(0)
    assert (values.output_nr, indices.requires_grad) == (0, False)
    a, b = y.unbind()[:2]
    assert a.exp().grad_fn.next_functions[0][1] == 0
    assert b.exp().grad_fn.next_functions[0][1] == 1
    assert a.grad_fn is b.grad_fn


def test_a_custom_function_names_its_node_after_its_class(lib):
    class MyReLU(lib.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clamp(min=0)

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    y = MyReLU.apply(leaf(lib, [1.0]))
    assert repr(y.grad_fn).startswith(renamed(lib, "<torch.autograd.function.MyReLUBackward object at 0x"))
    assert y.grad_fn.name() == "MyReLUBackward"
    assert "grad_fn=<MyReLUBackward>" in repr(y)


def test_saved_values_can_be_read_until_they_are_freed(lib):
    x, u = leaf(lib, [2.0]), leaf(lib, [3.0])
    y = x * u
    assert y.grad_fn._saved_self is x
    assert y.grad_fn._saved_other is u
    z = x.exp()
    assert close(z.grad_fn._saved_result, [7.389056])
    y.backward()
    with raises(lib, RuntimeError, TWICE):
        y.grad_fn._saved_self


def test_only_what_a_gradient_needs_is_saved(lib):
    x, w = leaf(lib, [2.0]), lib.tensor([3.0])
    y = x * w
    assert y.grad_fn._saved_self is None
    assert close(y.grad_fn._saved_other, [3.0])


def test_writing_to_a_view_gives_the_base_a_copy_slices_and_the_view_an_as_strided(lib):
    x = leaf(lib, [1.0, 2.0, 3.0])
    y = x * 1
    before = y.grad_fn
    v = y[:2]
    v.mul_(lib.tensor([2.0, 3.0]))
    assert backward_name(y) == "torch::autograd::CopySlices"
    assert type(y.grad_fn).__name__ == "CopySlices"
    assert backward_name(v) == "AsStridedBackward0"
    assert y.grad_fn.next_functions[0][0] is before
    y.sum().backward()
    assert close(x.grad, [2.0, 3.0, 1.0])


def test_copy_slices_has_an_edge_to_the_value_that_was_written(lib):
    x, u = leaf(lib, [1.0, 2.0]), leaf(lib, [5.0])
    y = x * 1
    y[:1] = u
    names = [node.name() for node, _ in y.grad_fn.next_functions if node is not None]
    assert names == ["MulBackward0", "torch::autograd::AccumulateGrad"]


def test_the_graph_dies_with_its_last_output(lib):
    freed = []

    class Watched(lib.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            class Token:
                pass

            ctx.token = Token()
            weakref.finalize(ctx.token, freed.append, True)
            return value * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    y = Watched.apply(leaf(lib, [1.0]))
    z = y.exp() * 2
    del y
    gc.collect()
    assert not freed
    del z
    gc.collect()
    assert freed


def test_a_leaf_stays_alive_through_the_graph(lib):
    x = leaf(lib, [3.0])
    address = x.data_ptr()
    y = x * 1
    del x
    gc.collect()
    y.backward()
    variable = y.grad_fn.next_functions[0][0].variable
    assert variable.data_ptr() == address
    assert close(variable.grad, [1.0])


def test_a_graph_is_freed_when_its_name_is_rebound(lib):
    import tracemalloc

    x = leaf(lib, [1.0] * 10)
    prediction = None

    def steps(count):
        nonlocal prediction
        for _ in range(count):
            prediction = (x * 2).exp().sum()

    steps(100)
    gc.collect()
    tracemalloc.start()
    try:
        steps(10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        steps(500)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_a_chain_of_100_000_operations_runs_backward_and_is_freed(lib):
    x = leaf(lib, [1.0])
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert close(x.grad, [1.0])
    del y
    gc.collect()


def _names(lib):
    n = lib.nn.functional
    i, m = lib.tensor([0, 1]), lib.tensor([True, False, True, False])

    def keep(y, *writes):
        for write in writes:
            write(y)
        return y

    return {
        "Add0": lambda x: x + x,
        "Sub0": lambda x: x - x,
        "Rsub1": lambda x: 1 - x,
        "Mul0": lambda x: x * x,
        "Div0": lambda x: x / x,
        "Mul0 2/x": lambda x: 2 / x,
        "Pow0": lambda x: x**2,
        "Pow1": lambda x: x**x,
        "Pow2": lambda x: 2**x,
        "Neg0": lambda x: -x,
        "Exp0": lambda x: x.exp(),
        "Log0": lambda x: x.log(),
        "Sqrt0": lambda x: x.sqrt(),
        "Sin0": lambda x: x.sin(),
        "Cos0": lambda x: x.cos(),
        "Tanh0": lambda x: x.tanh(),
        "Sigmoid0": lambda x: x.sigmoid(),
        "Relu0": lambda x: x.relu(),
        "Abs0": lambda x: x.abs(),
        "Pow0 square": lambda x: x.square(),
        "Sum0": lambda x: x.sum(),
        "Sum1": lambda x: x.sum(0),
        "Mean0": lambda x: x.mean(),
        "Mean1": lambda x: x.mean(0),
        "Max1": lambda x: x.max(),
        "Max0": lambda x: x.max(0)[0],
        "Min1": lambda x: x.min(),
        "Min0": lambda x: x.min(0)[0],
        "Amax0": lambda x: x.amax(),
        "Prod0": lambda x: x.prod(),
        "Var0": lambda x: x.var(),
        "Std0": lambda x: x.std(),
        "LinalgVectorNorm0": lambda x: x.norm(),
        "Dot0": lambda x: x @ x,
        "Mv0": lambda x: x.view(2, 2) @ x[:2],
        "Mm0": lambda x: x.view(2, 2) @ x.view(2, 2),
        "Bmm0": lambda x: lib.bmm(x.view(1, 2, 2), x.view(1, 2, 2)),
        "Addmm0": lambda x: lib.addmm(x[:2], x.view(2, 2), x.view(2, 2)),
        "Addmm0 linear": lambda x: n.linear(x.view(2, 2), x.view(2, 2), x[:2]),
        "View0": lambda x: x.view(2, 2),
        "View0 reshape": lambda x: x.reshape(2, 2),
        "Unsqueeze0": lambda x: x.unsqueeze(0),
        "Unsqueeze0 None": lambda x: x[None],
        "Squeeze1": lambda x: x.squeeze(0),
        "Squeeze0": lambda x: x.squeeze(),
        "Select0": lambda x: x[0],
        "Slice0": lambda x: x[0:1],
        "Slice0 narrow": lambda x: x.narrow(0, 0, 1),
        "Index0": lambda x: x[i],
        "Index0 mask": lambda x: x[m],
        "Alias0": lambda x: x[...],
        "T0": lambda x: x.t(),
        "Transpose0": lambda x: x.view(2, 2).transpose(0, 1),
        "Permute0": lambda x: x.view(2, 2).permute(1, 0),
        "Permute0 movedim": lambda x: x.view(2, 2).movedim(0, 1),
        "Expand0": lambda x: x.expand(2, 4),
        "Repeat0": lambda x: x.repeat(2),
        "Clone0": lambda x: x.clone(),
        "Cat0": lambda x: lib.cat([x, x]),
        "Stack0": lambda x: lib.stack([x, x]),
        "Split0": lambda x: x.split(2)[0],
        "Split0 chunk": lambda x: x.chunk(2)[0],
        "Unbind0": lambda x: x.unbind()[0],
        "Unbind0 iteration": lambda x: next(iter(x)),
        "Softmax0": lambda x: x.softmax(0),
        "LogSoftmax0": lambda x: x.log_softmax(0),
        "Logsumexp0": lambda x: x.logsumexp(0),
        "Clamp1": lambda x: x.clamp(0, 1),
        "Where0": lambda x: lib.where(m, x, x),
        "MaskedFill0": lambda x: x.masked_fill(m, 0.0),
        "IndexSelect0": lambda x: x.index_select(0, i),
        "Gather0": lambda x: x.gather(0, i),
        "Cumsum0": lambda x: x.cumsum(0),
        "Sort0": lambda x: x.sort()[0],
        "Maximum0": lambda x: lib.maximum(x, x),
        "ToCopy0": lambda x: x.double(),
        "IndexPut0": lambda x: keep(x.clone(), lambda y: y.__setitem__(i, 1.0)),
        "Copys": lambda x: keep(x.clone(), lambda y: y.__setitem__(slice(None), lib.ones(4))),
        "Zero0": lambda x: x.clone().zero_(),
        "Fill2": lambda x: x.clone().fill_(1.0),
        "Fill3": lambda x: x.clone().fill_(lib.tensor(1.0)),
        "MseLoss0": lambda x: n.mse_loss(x, lib.ones(4)),
        "Floor0": lambda x: x.floor(),
        "Round0": lambda x: x.round(),
        "Sign0": lambda x: x.sign(),
        "Normal0": lambda x: x.clone().normal_(),
        "Uniform0": lambda x: x.clone().uniform_(),
        "Diagonal0": lambda x: x.view(2, 2).diagonal(),
        "AsStrided0": lambda x: x.as_strided((2,), (1,)),
        "Flip0": lambda x: x.flip(0),
        "Roll0": lambda x: x.roll(1),
    }


NAMES = (
    "Add0|Sub0|Rsub1|Mul0|Div0|Mul0 2/x|Pow0|Pow1|Pow2|Neg0|Exp0|Log0|Sqrt0|Sin0|Cos0|Tanh0|Sigmoid0|Relu0|Abs0|Pow0 "
    "square|Sum0|Sum1|"
    "Mean0|Mean1|Max1|Max0|Min1|Min0|Amax0|Prod0|Var0|Std0|LinalgVectorNorm0|Dot0|Mv0|Mm0|Bmm0|Addmm0|Addmm0 "
    "linear|View0|View0 reshape|"
    "Unsqueeze0|Unsqueeze0 None|Squeeze1|Squeeze0|Select0|Slice0|Slice0 narrow|Index0|Index0 "
    "mask|Alias0|T0|Transpose0|Permute0|"
    "Permute0 movedim|Expand0|Repeat0|Clone0|Cat0|Stack0|Split0|Split0 chunk|Unbind0|Unbind0 "
    "iteration|Softmax0|LogSoftmax0|Logsumexp0|"
    "Clamp1|Where0|MaskedFill0|IndexSelect0|Gather0|Cumsum0|Sort0|Maximum0|ToCopy0|IndexPut0|Copys|Zero0|Fill2|Fill3|MseLoss0|Floor0|"
    "Round0|Sign0|Normal0|Uniform0|Diagonal0|AsStrided0|Flip0|Roll0"
).split("|")


@pytest.mark.parametrize("name", NAMES)
def test_the_node_of(lib, name):
    kind = name.split()[0]
    expected = f"{kind[:-1]}Backward{kind[-1]}"
    y = _names(lib)[name](leaf(lib, [0.5, 0.25, 2.0, 1.0]))
    assert type(y.grad_fn).__name__ == expected
    assert f"grad_fn=<{expected}>" in repr(y)
    assert backward_name(y) == ("torch::autograd::CopyBackwards" if expected == "CopyBackwards" else expected)


def test_every_listed_name_is_tested(lib):
    assert list(_names(lib)) == NAMES


@pytest.mark.parametrize("name", ["floor", "round", "sign", "ceil", "trunc"])
def test_an_operation_with_zero_derivative_keeps_its_node_and_gives_zeros(lib, name):
    x = leaf(lib, [0.5, -1.5])
    y = getattr(x, name)()
    assert y.requires_grad
    y.sum().backward()
    assert close(x.grad, [0.0, 0.0])


def test_random_fills_cut_the_value_but_keep_the_node(lib):
    for fill in ("normal_", "uniform_"):
        x = leaf(lib, [0.5, -1.5])
        getattr(y := x * 1, fill)()
        y.sum().backward()
        assert close(x.grad, [0.0, 0.0])
