"""claygrad in torch's place: each program runs in a process of its own, where no torch is ever loaded."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from claygrad.compat.standin import _ALONG


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_object_two_names() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch, torch.nn as nn, torch.utils.data, torch.optim.lr_scheduler
        from torch.nn import functional as F
        from torch.utils import _pytree
        assert torch is claygrad and nn is claygrad.nn and F.relu is claygrad.nn.functional.relu
        assert torch.optim.lr_scheduler.StepLR is claygrad.optim.lr_scheduler.StepLR
        assert claygrad.nn.__spec__.name == "claygrad.nn"
        print(_pytree.tree_map(lambda x: x + 1, [1]))
    """) == "[2]\n"


def test_what_names_itself_says_torch() -> None:
    assert run("""
        import claygrad, pickle
        claygrad.as_torch()
        import torch
        from torch.optim.lr_scheduler import StepLR
        print(torch.Tensor, torch.nn.Linear, torch.float32, torch.ones(2).shape, StepLR.__module__.split(".")[0])
        print(b"torch.nn" in pickle.dumps(torch.nn.Linear(1, 1)), b"claygrad" in pickle.dumps(torch.nn.Linear(1, 1)))
    """) == ("<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> torch.float32 torch.Size([2]) torch\n"
             "True False\n")


def test_versions() -> None:
    assert run("""
        import claygrad, importlib.metadata
        claygrad.as_torch()
        import torch
        print(importlib.metadata.version("torch"), torch.__version__.startswith("2.13.0+claygrad"))
        print(torch.__version__ >= "2.1", torch.__version__ > (2, 9), torch.__version__ < "3", torch.__version__ == "2.0")
    """) == "2.13.0+claygrad True\nTrue True True False\n"


def test_as_a_context() -> None:
    assert run("""
        import claygrad, sys
        with claygrad.as_torch() as torch:
            with claygrad.as_torch():
                import torch.nn
            print(torch.float32, torch.nn.Linear.__module__)
        print(claygrad.float32, claygrad.nn.Linear.__module__, "torch" in sys.modules, claygrad.__version__)
    """).splitlines()[0] == "torch.float32 torch.nn.modules.linear"


def test_the_context_leaves_nothing_behind() -> None:
    assert run("""
        import claygrad, sys
        before = claygrad.__version__, list(sys.meta_path)
        with claygrad.as_torch():
            import torch.distributions
        assert (claygrad.__version__, list(sys.meta_path)) == before
        print(claygrad.float32, claygrad.distributions.Normal.__module__, [m for m in sys.modules if m.startswith("torch")])
    """) == "claygrad.float32 claygrad.distributions.normal []\n"


def test_refused_where_torch_is_loaded() -> None:
    assert run("""
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        import claygrad
        try:
            claygrad.as_torch()
        except ImportError as error:
            print(str(error).splitlines()[0])
    """) == "claygrad cannot stand in for torch: torch itself is imported already.\n"


@pytest.mark.parametrize(("program", "line"), [
    ("import torch; torch.vulkan", "module 'torch' has no attribute 'vulkan'"),
    ("import torch.distributed.pipeline", "No module named 'torch.distributed.pipeline'"),
])
def test_absent_names_say_why(program: str, line: str) -> None:
    told = run(f"""
        import claygrad
        claygrad.as_torch()
        try:
            {program}
        except (AttributeError, ImportError) as error:
            print(error)
    """).splitlines()
    assert told[0] == line
    assert len(told) > 1
    assert "complex" not in told[1]


def test_modules_call_themselves_torchs_and_their_own_again() -> None:
    assert run("""
        import claygrad
        with claygrad.as_torch():
            import torch, torch.nn.functional, torch.distributions.utils
            import torch.optim.lr_scheduler as scheduler
            print(torch.__name__, torch.nn.functional.__name__, scheduler.__name__, torch.distributed.__name__)
            from torch.nn import modules
            assert modules is claygrad.nn.modules
        print(claygrad.__name__, claygrad.nn.functional.__name__, claygrad.optim.lr_scheduler.__name__)
    """) == ("torch torch.nn.functional torch.optim.lr_scheduler torch.distributed\n"
             "claygrad claygrad.nn.functional claygrad.optim.lr_scheduler\n")


def test_private_names_that_packages_build_on() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch
        from torch.distributions.transforms import _clipped_sigmoid
        from torch.distributions.utils import _standard_normal, _sum_rightmost
        from torch.optim.optimizer import _default_to_fused_or_foreach, _get_value, _use_grad_for_differentiable
        from torch.serialization import MAP_LOCATION, default_restore_location
        from torch.utils.data._utils.worker import _generate_state
        torch.manual_seed(0)
        drawn = _standard_normal((3,), torch.float64, None)
        torch.manual_seed(0)
        assert torch.equal(drawn, torch.empty(3, dtype=torch.float64).normal_())
        assert _sum_rightmost(torch.ones(2, 3, 4), 2).tolist() == [12, 12]
        groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(1).double()]], True)
        print(torch.__config__.show().splitlines()[0].split()[0], _generate_state(5, 1), len(groups),
              _default_to_fused_or_foreach([torch.ones(1)], False, True), _get_value(torch.tensor(2.0)))
        torch.backends.disable_global_flags()
        with torch.backends.__allow_nonbracketed_mutation():
            torch.backends.cudnn.benchmark = True
    """).startswith("claygrad [")


def test_private_helpers_of_layers() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch
        from torch.nn.functional import _canonical_mask, _in_projection_packed, _mha_shape_check, _none_or_dtype
        from torch.nn.init import _no_grad_fill_, _no_grad_trunc_normal_
        from torch.nn.modules.utils import _list_with_default, _pair, _reverse_repeat_tuple
        x = torch.ones(3, 2, 4)
        print(_reverse_repeat_tuple(_pair((1, 2)), 2), _list_with_default([None, 3], [7, 8, 9]), _none_or_dtype(x),
              [tuple(y.shape) for y in _in_projection_packed(x, x, x, torch.ones(12, 4))],
              _mha_shape_check(x, x, x, None, None, 2),
              _canonical_mask(torch.tensor([True, False]), "mask", None, "", torch.float32).tolist(),
              _no_grad_fill_(torch.ones(1, requires_grad=True), 2.0).tolist())
    """) == ("(2, 2, 1, 1) [8, 3] torch.float32 [(3, 2, 4), (3, 2, 4), (3, 2, 4)] True [-inf, 0.0] [2.0]\n")


def test_whether_a_checkpoint_may_run() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch
        told = [torch.autograd._is_checkpoint_valid()]
        class Asks(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, grad):
                told.append(torch.autograd._is_checkpoint_valid())
                return grad * 2
        x = torch.ones(2, requires_grad=True)
        Asks.apply(x).sum().backward()
        Asks.apply(x).sum().backward(inputs=[x])
        torch.autograd.grad(Asks.apply(x).sum(), x)
        print(told)
    """) == "[True, True, False, False]\n"


def test_marks_and_containers_of_private_modules() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch, torch.utils.weak, torch._jit_internal as internal
        from torch.onnx.symbolic_helper import parse_args
        from torch.utils.data import IterDataPipe, functional_datapipe

        @internal._copy_to_script_wrapper
        @parse_args("v", "i")
        def f(x): return x
        assert f(3) == 3
        both = internal.boolean_dispatch("flag", 1, False, lambda x, flag: "yes", lambda x, flag=False: "no", "m", "f")
        assert (both(1), both(1, True), both(1, flag=True)) == ("no", "yes", "yes")

        @functional_datapipe("doubled")
        class Doubled(IterDataPipe):      # a pipe is only a name, its subclasses are their own
            def __init__(self, source): self.source = source
        assert isinstance(Doubled([1]).doubled(), Doubled)

        held = torch.utils.weak.WeakIdKeyDictionary()
        a, b = torch.ones(2), torch.ones(2)
        held[a] = 1
        assert a in held and b not in held and len(held) == 1
        del a
        assert len(held) == 0 and list(held) == []
        key = torch._C.DispatchKey
        assert (torch._C.DispatchKeySet(key.CPU) | torch._C.DispatchKeySet(key.CUDA)).has(key.CUDA)

        class Family: pass
        @torch.distributions.register_kl(torch.distributions.Normal, Family)
        def kl(p, q): return 7
        print(torch.distributions.kl_divergence(torch.distributions.Normal(0., 1.), Family()))
    """) == "7\n"


def test_operators_of_compiled_libraries_that_are_not_there() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch

        @torch.library.register_fake("elsewhere::nms")          # described before it is defined, or never defined
        def fake(boxes, scores): return boxes.new_empty((0,))
        library = torch.library.Library("elsewhere", "DEF")
        library.define("nms(Tensor a, Tensor b) -> Tensor")
        assert torch.ops.elsewhere.nms(torch.ones(2, device="meta"), torch.ones(2, device="meta")).shape == (0,)
        table = {torch.ops.aten._assert_scalar.default: 1, torch.ops.aten.slice.Tensor: 2}
        try:
            torch.ops.aten._assert_scalar.default(torch.ones(1))
        except NotImplementedError as wrong:
            print(table[torch.ops.aten._assert_scalar.default], str(wrong).split()[0])
        try:
            torch.ops.aten.no_such_operator
        except AttributeError as wrong:
            print(wrong)
    """) == "1 aten::_assert_scalar\n'_OpNamespace' 'aten' object has no attribute 'no_such_operator'\n"


def test_the_package_that_comes_with_torch() -> None:
    assert run("""
        import claygrad, sys
        with claygrad.as_torch():
            from functorch import FunctionalModule, make_functional
            import functorch.compile, torch.utils._pytree
            try:
                functorch.compile.aot_function(abs, None)
            except NotImplementedError as error:
                print(str(error).splitlines()[0], isinstance(torch.nn.Linear(1, 1), FunctionalModule))
            try:
                from functorch import dim
            except ImportError as error:
                print(type(error).__name__)
            try:
                import functorch.dim
            except ModuleNotFoundError as error:
                print(str(error).splitlines()[0], len(str(error).splitlines()))
            print(torch.utils._pytree.__file__.endswith(".py"), isinstance(torch.ones(1).untyped_storage(), torch.StorageBase))
        print([name for name in sys.modules if name.startswith("functorch")])
    """).splitlines() == ["torch._functorch.aot_function is only a name in claygrad False", "ImportError",
                          "No module named 'functorch.dim' 3", "True True", "[]"]


def test_functions_compiled_by_what_leaves_graphs_as_they_are() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch
        from functorch.compile import aot_function, aot_module, nop, ts_compile
        from torch._functorch.aot_autograd import aot_module_simplified
        layer, x = torch.nn.Linear(3, 2), torch.ones(1, 3, requires_grad=True)
        for call in (aot_function(layer, nop), aot_function(layer, ts_compile, nop), aot_module(layer, nop),
                     aot_module_simplified(layer, (x,), nop)):
            assert torch.equal(call(x), layer(x))
        aot_module(layer, nop)(x).sum().backward()
        assert torch.equal(x.grad[0], layer.weight.sum(0))
        print(list(aot_module(layer, nop).state_dict()))
        for wrong in (lambda: aot_function(layer, nop, print), lambda: aot_module(layer, print)):
            try:
                wrong()
            except NotImplementedError as error:
                print(str(error).splitlines()[0])
    """).splitlines() == ["['orig_module.weight', 'orig_module.bias']",
                          *["torch._functorch.aot_function is only a name in claygrad"] * 2]


def test_modules_that_a_function_of_the_same_name_hides() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        from torch._higher_order_ops.out_dtype import out_dtype
        from torch.ao.quantization.quantize import _remove_qconfig
        from torch.export.unflatten import _assign_attr
        from torch._dynamo.utils import counters, warn_once
        from torch.utils._foreach_utils import _foreach_supported_types
        from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured
        import torch, warnings
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warn_once("told"), warn_once("told")
        print(len(told), isinstance(torch.ones(1), SparseSemiStructuredTensor), counters["graph_break"].total())
    """) == "1 False 0\n"


def test_tensors_of_a_module_are_exchanged_by_name() -> None:
    assert run("""
        import claygrad
        claygrad.as_torch()
        import torch
        from torch.nn.utils._named_member_accessor import set_tensor, swap_tensor
        layer, other = torch.nn.Linear(2, 2), torch.zeros(2, 2)
        own = layer.weight
        assert swap_tensor(layer, "weight", other) is own and layer.weight is other and "weight" in layer._parameters
        assert swap_tensor(layer, "weight", own) is other and layer.weight is own
        set_tensor(layer, "extra", other)
        assert layer.extra is other
        for call, error in ((lambda: swap_tensor(layer, "none", other), AttributeError), (lambda: swap_tensor(3, "a", other), TypeError),
                            (lambda: swap_tensor(layer, "a.b", other), KeyError), (lambda: swap_tensor(layer, "training", other), TypeError),
                            (lambda: set_tensor(layer, "weight", 3), TypeError), (lambda: set_tensor(layer, "", other), KeyError)):
            try:
                call()
            except error as said:
                print(said)
        swap_tensor(layer, "none", other, allow_missing=True)
        assert layer.none is other
    """).splitlines() == ["Linear has no attribute `none`", "3 is not an instance of torch.nn.Module", "'tensor name can\\'t contain \".\"'",
                          "attribute `training`: True is not an instance of torch.Tensor", "3 is not an instance of torch.Tensor",
                          "'tensor name can\\'t be empty string \"\"'"]


@pytest.mark.parametrize("package", sorted(_ALONG))
def test_modules_that_torch_brings_along_are_there(package: str) -> None:
    program = (f"import claygrad\nclaygrad.as_torch()\nimport torch, {package}\n"
               + "".join(f"print({package}.{name}.__name__)\n" for name in _ALONG[package])
               + f"print(hasattr({package}, 'nothing'))\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [*(f"{package}.{name}" for name in _ALONG[package]), "False"], done.stderr
