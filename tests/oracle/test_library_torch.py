"""`torch.library` and `torch.ops` against PyTorch's: the same program gives the same lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, List, Optional, Sequence, Tuple  # noqa: UP035

import pytest
import torch
import torch.library

import claygrad

SIDES = {"torch": torch, "claygrad": claygrad}


def told(call: Callable[[], Any]) -> str:
    try:
        made = call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}".strip().replace("claygrad", "torch")
    return str(made.tolist() if hasattr(made, "tolist") else made).replace("claygrad", "torch")


def both(program: Callable[[Any], Any]) -> None:
    first, second = (program(side) for side in SIDES.values())
    assert first == second




def make_scale(torch: Any, name: str) -> Any:
    def scale(x, by, *, times=1):
        return torch.from_numpy(x.detach().numpy() * by * times)

    scale.__annotations__ = {"x": torch.Tensor, "by": float, "times": int, "return": torch.Tensor}
    return torch.library.custom_op(name, scale, mutates_args=())


def test_a_custom_op_without_a_gradient() -> None:
    def program(torch: Any) -> list[str]:
        op = make_scale(torch, "oracle_a::scale")
        x = torch.ones(2, requires_grad=True)
        return [told(lambda: op(x, 2.0)), told(lambda: op(x, 2.0).requires_grad), told(lambda: op(x, 2.0).sum().backward()),
                told(lambda: op(1, 2.0)), told(lambda: op(x)), told(lambda: op(x, 2.0, 3)), told(lambda: op(x, 2, times=3)),
                told(lambda: op(x.detach().to("meta"), 2.0)), told(lambda: torch.ops.oracle_a.scale(x, 3.0)),
                told(lambda: torch.ops.oracle_a.scale.default), told(lambda: torch.ops.oracle_a.scale),
                told(lambda: torch.ops.oracle_a.scale.default._schema), told(lambda: torch.ops.oracle_a.scale.nope),
                told(lambda: torch.ops.oracle_a.nope), told(lambda: op)]
    both(program)


def test_gradients_shapes_and_kernels() -> None:
    def program(torch: Any) -> list[str]:
        op = make_scale(torch, "oracle_b::scale")

        def setup(ctx, inputs, keyword_only_inputs, output):
            ctx.by = inputs[1] * keyword_only_inputs["times"]
            ctx.save_for_backward(inputs[0])

        def backward(ctx, grad):
            assert ctx.needs_input_grad == (True, False)
            return grad * ctx.by + 0 * ctx.saved_tensors[0], None

        op.register_autograd(backward, setup_context=setup)
        op.register_fake(lambda x, by, *, times=1: torch.empty_like(x))
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (op(x, 3.0, times=2) * x).sum().backward()
        return [told(lambda: x.grad), told(lambda: op(torch.empty(2, 3, device="meta"), 1.0).shape)]
    both(program)


def test_lists_of_tensors() -> None:
    def program(torch: Any) -> list[str]:
        def total(xs, weights):
            return sum(x * w for x, w in zip(xs, weights))

        total.__annotations__ = {"xs": Sequence[torch.Tensor], "weights": Sequence[float], "return": torch.Tensor}
        op = torch.library.custom_op("oracle_c::total", total, mutates_args=())

        def setup(ctx, inputs, output):
            ctx.weights = inputs[1]

        op.register_autograd(lambda ctx, grad: ([grad * w for w in ctx.weights], None), setup_context=setup)
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        op([x, y], [2.0, 3.0]).sum().backward()
        return [told(lambda: x.grad), told(lambda: op([x, y], [1.0, 1.0]))]
    both(program)


def test_several_results_and_writing_into_an_argument() -> None:
    def program(torch: Any) -> list[str]:
        def pair(x):
            return x * 2, x * 3

        pair.__annotations__ = {"x": torch.Tensor, "return": Tuple[torch.Tensor, torch.Tensor]}  # noqa: UP006
        op = torch.library.custom_op("oracle_d::pair", pair, mutates_args=())
        op.register_autograd(lambda ctx, a, b: 2 * a + 3 * b)

        def add_one(x):
            x.add_(1)

        add_one.__annotations__ = {"x": torch.Tensor, "return": None}
        write = torch.library.custom_op("oracle_d::add_one", add_one, mutates_args=("x",))
        x, z = torch.ones(2, requires_grad=True), torch.zeros(2)
        a, b = op(x)
        (a + b).sum().backward()
        write(z)
        return [told(lambda: x.grad), told(lambda: z), told(lambda: write.register_autograd(lambda ctx: None))[:60]]
    both(program)


def test_libraries() -> None:
    def program(torch: Any) -> list[str]:
        lib = torch.library.Library("oracle_e", "DEF")
        lines = [told(lambda: lib.define("twice(Tensor x, int n=2) -> Tensor"))]
        lines.append(told(lambda: torch.ops.oracle_e.twice(torch.ones(2)))[:70])
        lib.impl("twice", lambda x, n=2: x * n, "CPU")
        x = torch.ones(2, requires_grad=True)
        torch.ops.oracle_e.twice(x, 5).sum().backward()
        lines += [told(lambda: x.grad), told(lambda: torch.ops.oracle_e.twice(torch.ones(2), 2, 3)),
                  told(lambda: torch.ops.oracle_e.twice(torch.ones(2), m=2)),
                  told(lambda: torch.ops.oracle_e.twice(x=torch.ones(2))), told(lambda: torch.ops.oracle_e.twice("a")),
                  told(lambda: torch.library.Library("oracle_e", "DEF"))[:60],
                  told(lambda: lib.define("twice(Tensor x) -> Tensor"))[:60],
                  told(lambda: torch.library.Library("a", "b"))]
        torch.library.define("oracle_f::neg", "(Tensor x) -> Tensor")
        torch.library.impl("oracle_f::neg", "cpu")(lambda x: -x)
        torch.library.register_fake("oracle_f::neg")(lambda x: torch.empty_like(x))
        torch.library.register_autograd("oracle_f::neg", lambda ctx, g: -g)
        x = torch.ones(2, requires_grad=True)
        torch.ops.oracle_f.neg(x).sum().backward()
        return [*lines, told(lambda: x.grad), told(lambda: torch.ops.oracle_f.neg(torch.empty(3, device="meta")).shape),
                told(lambda: torch.ops.load_library("nowhere.so"))[:38]]
    both(program)


def annotated(torch: Any) -> list[Any]:
    t, o = torch.Tensor, Optional
    return [
        ({"x": t, "return": t}, ()), ({"x": t, "return": None}, ("x",)), ({"x": t, "return": None}, ("y",)),
        ({"x": o[t], "n": o[int], "return": Tuple[t, t]}, ()), ({"x": List[t], "s": Sequence[int], "return": List[t]}, ()),  # noqa: UP006
        ({"x": t | None, "s": list[float], "b": bool, "return": tuple[t, int]}, "unknown"),
        ({"d": torch.dtype, "v": torch.device, "s": str, "n": torch.types.Number, "return": t}, ()),
        ({"d": o[torch.types.Number], "s": o[list[int]], "q": o[str], "return": float}, ()),
        ({"x": t}, ()), ({"return": t}, ()), ({"x": t, "y": int, "return": t}, ("y",)),
    ]


@pytest.mark.parametrize("case", range(11))
def test_schemas_are_read_from_signatures(case: int) -> None:
    def program(torch: Any) -> str:
        hints, writes = annotated(torch)[case]
        names = [name for name in hints if name != "return"]
        scope: dict[str, Any] = {}
        exec(f"def f({', '.join(names)}): pass", scope)
        scope["f"].__annotations__ = hints
        return told(lambda: torch.library.infer_schema(scope["f"], mutates_args=writes))[:120]
    both(program)


@pytest.mark.parametrize("name", ["add", "relu", "mm", "sum", "view", "cat", "addmm", "native_layer_norm", "add_", "mul",
                                  "convolution", "clone", "nope", "linalg_vector_norm", "topk", "t", "detach"])
def test_aten(name: str) -> None:
    def program(torch: Any) -> list[str]:
        lines = [told(lambda: getattr(torch.ops.aten, name)), told(lambda: getattr(torch.ops.aten, name).overloads())]
        if not lines[0].startswith("AttributeError"):
            packet = getattr(torch.ops.aten, name)
            first = getattr(packet, packet.overloads()[0])
            lines += [repr(first), repr(packet), first.name(), first.__name__, first._schema.name, first.namespace,
                      told(lambda: packet.nope)]
        return lines
    both(program)


@pytest.mark.parametrize("space", ["_c10d_functional", "_quantized", "c10d", "inductor", "mkldnn", "onednn", "prims",
                                   "profiler", "quantized", "sparse"])
def test_operators_of_other_namespaces(space: str) -> None:
    names = sorted({one.partition("::")[2].partition(".")[0] for one in torch._C._dispatch_get_all_op_names()
                    if one.startswith(f"{space}::")})
    assert names

    def program(torch: Any) -> list[Any]:
        packets = [getattr(getattr(torch.ops, space), name) for name in names]
        return [(str(packet), packet.overloads(), [getattr(packet, one).name() for one in packet.overloads()])
                for packet in packets]
    both(program)


def test_aten_calls() -> None:
    def program(torch: Any) -> list[str]:
        x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
        aten = torch.ops.aten
        return [told(lambda: aten.add.Tensor(x, x)), told(lambda: aten.add.Scalar(x, 2)), told(lambda: aten.relu.default(x)),
                told(lambda: aten.mm(x, x)), told(lambda: aten.sum.dim_IntList(x, [1], True)), told(lambda: aten.t.default(x)),
                told(lambda: aten.add.out(x, x, out=torch.empty(2, 2))), told(lambda: aten.mul_.Tensor(x.clone(), x))]
    both(program)
