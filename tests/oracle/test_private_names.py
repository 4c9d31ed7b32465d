"""Private functions of PyTorch's modules that packages build their own on: the same results, the same errors."""
from __future__ import annotations

import importlib
import io

import numpy as np
import pytest
import torch

import claygrad
from claygrad.compat import names

# A module, and expressions: `m` is the module, `t` the library, `x`, `y`, `A`, `W` and `D` are tensors.
CASES = {
    "autograd": ["m._tensor_or_tensors_to_tuple(None, 2)", "len(m._tensor_or_tensors_to_tuple(y, 1))", "m.is_view_replay_enabled()",
                 "m._make_grads((y.sum(),), (None,), is_grads_batched=False)", "m._make_grads((y * 2,), (None,), is_grads_batched=False)",
                 "m._make_grads((y * 2,), (t.ones(3),), is_grads_batched=False)"],
    "autograd.functional": [
        "m._as_tuple(x)", "m._as_tuple((x,), 'a', 'f')[0]", "m._as_tuple(3, 'inputs', 'jvp')", "len(m._as_tuple_nocheck([x, x]))",
        "[(g.requires_grad, g.is_leaf) for g in m._grad_preprocess((x, y), True, True)]",
        "[(g.requires_grad, g.is_leaf) for g in m._grad_preprocess((x, y), False, True)]",
        "[g.requires_grad for g in m._grad_postprocess((y,), False)]", "m._grad_postprocess(((y,), (y,)), True)[0][0] is y",
        *(f"m._check_requires_grad(({what},), {kind!r}, True)" for what in ("x", "None", "y")
          for kind in ("outputs", "grad_inputs", "jacobian", "hessian", "other")), "m._check_requires_grad((x,), 'outputs', False)",
        "m._validate_v((x,), (y,), False)", "m._validate_v((x,), (y,), True)", "m._validate_v((x, x), (y,), False)",
        "m._validate_v((y,), (y,), False)", "m._autograd_grad((y.sum(), x), (y,), (None, None))", "m._autograd_grad((x,), (y,))",
        "m._fill_in_zeros((None, y), (x, y), False, False, 'back')", "m._fill_in_zeros((None,), (x,), False, False, 'b')",
        "[m._tuple_postprocess((1,), False), m._tuple_postprocess((1,), True)]",
        "[m._tuple_postprocess(((1,),), flags) for flags in ((False, False), (False, True), (True, False), (True, True))]"],
    "autograd.function": [
        "[one.shape for one in m._iter_tensors([x, (y, {'a': y})])]", "list(m._iter_tensors([3]))", "m._map_tensor_data(3)",
        "list(m._iter_tensors_permissive([3, x]))[0]", "list(m._iter_None_tensors([None, y]))[0]",
        "m._map_tensor_data([x, (y,)])[1][0].requires_grad",
        "m._nested_map(lambda v: isinstance(v, int), lambda v: v + 1)([1, (2, None), {'a': 3}])", "m._unflatten([1, 2, 3], (0, [0, 0]))",
        "isinstance(t.autograd.Function, m.FunctionMeta)", "issubclass(t.autograd.Function, m._SingleLevelFunction)"],
    "autograd.graph": [
        "m._engine_run_backward(((y * 2).sum(),), (t.ones(()),), True, False, (y,), allow_unreachable=True, accumulate_grad=False)",
        "[m._engine_run_backward(((y * 2).sum(),), (t.ones(()),), False, False, (), accumulate_grad=True), y.grad]",
        "[type(m._get_grad_fn_or_grad_acc(one)).__name__ for one in (y, y * 2)]"],
    "optim.optimizer": ["m._device_dtype_check_for_fused(t.ones(1, dtype=t.int32))", "m._device_dtype_check_for_fused(y)",
                        "t.Tensor in m._foreach_supported_types"],
    "_tensor_str": ["m._str(x)", "m._str(y)", "m.PRINT_OPTS.precision"],
    "_linalg_utils": ["m.qform(A, A)", "m.bform(A, None, A)", "m.matmul(None, A)", "m.symeig(A)[0]", "m.symeig(A, True)[0]", "m.is_sparse(A)",
                      "m.is_sparse(3)", "m.get_floating_dtype(t.ones(1, dtype=t.int32))", "m.get_floating_dtype(t.ones(1, dtype=t.float64))",
                      "m.basis(A).abs()"],
    "distributions.lowrank_multivariate_normal": [
        "m._batch_capacitance_tril(W, D)", "m._batch_lowrank_logdet(W, D, m._batch_capacitance_tril(W, D))",
        "m._batch_lowrank_mahalanobis(W, D, t.ones(3), m._batch_capacitance_tril(W, D))"],
    "distributions.kl": ["m._infinite_like(y)", "m._x_log_x(t.tensor([0.0, 2.0]))", "m._batch_trace_XXT(A)"],
    "nn.utils.prune": ["m._compute_norm(x, 2, 0)", "m._compute_norm(x, 1, -1)", "m._validate_structured_pruning(y)",
                       "m._validate_structured_pruning(x)", "m._validate_pruning_dim(x, 2)", "m._validate_pruning_dim(x, 1)"],
    "nn.modules.activation": ["m._arg_requires_grad(y)", "m._arg_requires_grad(x)", "m._check_arg_device(x)", "m._is_make_fx_tracing()"],
    "nn.functional": ["m._max_pool2d(t.ones(1, 1, 4, 4), 2).shape", "m._threshold(x, 2, 0)", "m._list_or_empty(None)", "m._list_or_empty(3)",
                      "m._is_integer(3)", "m._is_integer(x)", "m._is_integer(x.long())", "m._verify_spatial_size([2, 3, 1])",
                      "m._verify_spatial_size([2, 3, 4])", "m._adaptive_max_pool1d(x, 1)"],
    "utils.checkpoint": ["m._infer_device_type(x)", "m._get_device_module('meta')", "m._get_autocast_kwargs('cpu')",
                         "m._internal_assert(False)", "m._internal_assert(True)"],
    "utils.data._utils.collate": ["m.default_collate_err_msg_format", "m.collate_numpy_scalar_fn([np.float64(2)])"],
    "utils.data._utils.worker": ["m.MP_STATUS_CHECK_INTERVAL"],
    "_utils": ["m.is_compiling()", "m._get_all_device_indices()", "[one.dtype for one in m._reorder_tensors_as([x, x.double()], [x.double(), x])]",
               "m._handle_complex(t.ones(1, dtype=t.complex64)).shape", "repr(m.KeyErrorMessage('a'))"],
    "_subclasses.fake_tensor": ["m.is_fake(x)"],
    "serialization": ["m._is_path('a')", "m._is_path(file)", "m._maybe_decode_ascii(b'a')", "m._is_zipfile(file)", "file.tell()",
                      "m._open_file_like(file, 'rb').__enter__().read(2)"],
    "torch_version": ["m.TorchVersion('2.1.0') > (2, 0)"],
    "signal.windows.windows": ["m.hann(3)"],
}


class Module:
    """A module as programs see it that run under torch's name: with what only packages ask for."""

    def __init__(self, lib, path: str):
        self.held = importlib.import_module(f"{lib.__name__}.{path}")

    def __getattr__(self, name: str):
        if hasattr(self.held, name) or self.held.__name__.startswith("torch"):
            return getattr(self.held, name)
        return names.find(self.held.__name__, name)


def told(lib, path: str, expression: str) -> str:
    file = io.BytesIO(b"PK\x03\x04and so on")
    values = {"t": lib, "m": Module(lib, path), "np": np, "file": file,
              "x": lib.arange(6.0).reshape(2, 3), "y": lib.ones(2, requires_grad=True), "A": lib.tensor([[2.0, 1.0], [1.0, 3.0]]),
              "W": lib.tensor([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]]), "D": lib.tensor([1.0, 2.0, 1.5])}
    try:
        found = eval(expression, values)
    except Exception as error:
        found = type(error).__name__, str(error).splitlines()[0]
    return str(found).replace("claygrad", "torch")


@pytest.mark.parametrize(("path", "expression"), [(path, one) for path, given in CASES.items() for one in given])
def test_private_functions_give_what_pytorch_gives(path: str, expression: str):
    assert told(claygrad, path, expression) == told(torch, path, expression)
