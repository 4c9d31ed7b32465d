"""Operators of one's own: gradients, shapes, `torch.ops`, checks, copies."""

from __future__ import annotations

import copy
import pickle

import pytest

import claygrad
from claygrad import Tensor
from claygrad.library import Library, OpCheckError, custom_op, opcheck


@custom_op("tests_custom::cube", mutates_args=())
def cube(x: Tensor, factor: float = 1.0) -> Tensor:
    """The third power."""
    return x**3 * factor


@cube.register_fake
def _(x, factor=1.0):
    return claygrad.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.factor = inputs[1]


cube.register_autograd(lambda ctx, grad: (3 * ctx.saved_tensors[0] ** 2 * grad * ctx.factor, None), setup_context=_setup)


def test_gradcheck() -> None:
    x = claygrad.tensor([0.5, -1.5], dtype=claygrad.float64, requires_grad=True)
    assert claygrad.autograd.gradcheck(lambda x: cube(x, 2.0), (x,))
    assert claygrad.autograd.gradcheck(lambda x: claygrad.ops.tests_custom.cube(x, factor=2.0), (x,))


def test_opcheck() -> None:
    x = claygrad.ones(2, requires_grad=True)
    assert set(opcheck(cube, (x,)).values()) == {"SUCCESS"}

    @custom_op("tests_custom::hidden_write", mutates_args=())
    def hidden_write(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    with pytest.raises(OpCheckError, match="Argument x is not defined as mutable but was mutated"):
        opcheck(hidden_write, (claygrad.ones(2),), test_utils="test_schema")
    assert isinstance(opcheck(hidden_write, (claygrad.ones(2),), raise_exception=False)["test_faketensor"], RuntimeError)


def test_a_result_may_not_be_an_argument() -> None:
    @custom_op("tests_custom::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        same(claygrad.ones(2))


def test_copies_and_pickles_are_the_operator_itself() -> None:
    overload = claygrad.ops.tests_custom.cube.default
    assert copy.deepcopy(overload) is overload
    assert pickle.loads(pickle.dumps(overload)) is overload
    assert pickle.loads(pickle.dumps(claygrad.ops.aten.add)) is claygrad.ops.aten.add


def test_kernels_may_come_before_the_operator_and_libraries_go_away() -> None:
    Library("tests_late", "IMPL").impl("neg", lambda x: -x, "CPU")
    library = Library("tests_late", "DEF")
    library.define("neg(Tensor x) -> Tensor")
    assert claygrad.ops.tests_late.neg(claygrad.ones(1)).item() == -1
    library._destroy()
    assert not hasattr(claygrad.ops.tests_late, "neg")
    Library("tests_late", "DEF")._destroy()


def test_a_namespace_may_be_called_like_a_part_of_claygrad() -> None:
    @custom_op("view::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    assert claygrad.ops.view.twice(claygrad.ones(1)).item() == 2
    from claygrad.ops import view
    assert hasattr(view, "__file__")


def test_claygrads_own_operations_stay() -> None:
    with pytest.raises(NotImplementedError, match="cannot be replaced"):
        Library("aten", "IMPL").impl("add", lambda x, y: x, "CPU")


@pytest.mark.parametrize("name", ["_c10d_functional.all_reduce", "quantized.add", "prims.convert_element_type",
                                  "aten._sobol_engine_draw"])
def test_operators_that_are_only_names_refuse_to_be_called(name: str) -> None:
    space, last = name.split(".")
    packet = getattr(getattr(claygrad.ops, space), last)
    for call in (packet, getattr(packet, packet.overloads()[0])):
        with pytest.raises(NotImplementedError, match=f"^{space}::{last} is one of PyTorch's inner operators"):
            call(1)


def test_namespaces_of_torch_know_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        claygrad.ops.quantized.nothing
