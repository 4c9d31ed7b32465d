"""Private and former names that public packages import: what they give is what PyTorch's give."""
from __future__ import annotations

import importlib
import warnings

import pytest
import torch

import claygrad
from claygrad.compat.names import find

# An expression over `lib` (torch or claygrad) and `of` (a module of it, by its path below torch).
EXPRESSIONS = """
of('nn._reduction').get_enum('sum')
of('nn._reduction').get_enum('elementwise_mean')
of('nn._reduction').get_enum('x')
of('nn._reduction').legacy_get_string(None, False)
of('nn._reduction').legacy_get_enum(False, None, False)
str(of('nn.common_types')._size_2_t), str(of('nn.common_types')._size_any_t), str(of('nn.common_types')._ratio_3_t)
str(of('nn.common_types')._scalar_or_tuple_2_t[float])
of('nn.modules.container').ParameterList.__name__
of('nn.modules.rnn')._apply_permutation(lib.arange(6).view(2, 3), lib.tensor([2, 0, 1]))
of('nn.modules.rnn').apply_permutation(lib.arange(6).view(2, 3), lib.tensor([1, 0]), 0)
of('nn.modules.transformer')._get_activation_fn('gelu')(lib.ones(2))
of('nn.modules.transformer')._get_activation_fn('tanh')
len(of('nn.modules.transformer')._get_clones(lib.nn.Linear(1, 1), 3))
of('nn.modules.transformer')._get_seq_len(lib.ones(2, 3, 4), True)
of('nn.modules.transformer')._detect_is_causal_mask(lib.full((3, 3), -float('inf')).triu(1))
of('nn.modules.transformer')._detect_is_causal_mask(lib.zeros(3, 3), None, 3)
of('distributions.multivariate_normal')._batch_mv(lib.eye(3) * 2, lib.arange(6.).view(2, 3))
of('distributions.multivariate_normal')._batch_mahalanobis(lib.eye(3) * 2, lib.arange(6.).view(2, 3))
of('distributions.multivariate_normal')._batch_mahalanobis(lib.eye(3).expand(2, 1, 3, 3) * 2, lib.arange(12.).view(2, 2, 3))
of('distributions.multivariate_normal')._precision_to_scale_tril(lib.eye(3) * 4 + 1)
of('optim.lr_scheduler')._param_groups_val_list(lib.optim.SGD([lib.ones(1)], 0.1), 'lr')
of('optim.lr_scheduler')._format_param('lr', lib.optim.SGD([lib.ones(1)], 0.1), 3)
of('optim.lr_scheduler')._format_param('lr', lib.optim.SGD([lib.ones(1)], 0.1), [3, 4])
of('optim.lbfgs')._cubic_interpolate(lib.tensor(0.), lib.tensor(1.), lib.tensor(-1.), lib.tensor(2.), lib.tensor(2.), lib.tensor(3.))
of('optim.lbfgs')._strong_wolfe(lambda x, t, d: ((x + t * d).pow(2).sum().item(), 2 * (x + t * d)), lib.ones(2), 1.0, -lib.ones(2), 2.0, 2 * lib.ones(2), lib.tensor(-4.))
of('utils._pytree')._namedtuple_flatten(lib.aminmax(lib.arange(3)))[0]
of('utils._typing_utils').not_none(3)
of('utils._typing_utils').not_none(None)
of('utils._import_utils')._check_module_exists('os'), of('utils._import_utils')._check_module_exists('no_such_module')
of('utils._device').set_device('meta')(lambda: str(lib.ones(1).device))()
of('nn.parallel.scatter_gather').scatter([1, 'a'], [0, 1])
of('nn.parallel.scatter_gather').scatter({'a': (1, 2)}, [0, 1])
of('nn.parallel.scatter_gather').scatter(lib.ones(2), ['cpu'])
of('nn.parallel.scatter_gather').scatter_kwargs((1,), {}, [0, 1])
of('nn.parallel.scatter_gather').gather([None], 'cpu')
of('nn.parallel.scatter_gather').gather([lib.ones(1)], 'cpu')
of('nn.parallel.parallel_apply').get_a_var([{'a': lib.ones(2)}])
of('nn.parallel').parallel_apply([1, 2], [3])
of('nn.parallel').replicate(lib.nn.Linear(1, 1), ['cpu'])
of('nn.parallel').replicate(lib.nn.Linear(1, 1), [0])
of('nn.parallel.distributed').DistributedDataParallel(lib.nn.Linear(1, 1))
callable(of('nn.parallel').data_parallel), of('nn.parallel.data_parallel') is not None
lib._softmax(lib.arange(3.), 0, False)
lib._log_softmax(lib.arange(3.), 0, False)
lib._safe_softmax(lib.tensor([[1., -float('inf')], [-float('inf')] * 2]), 1)
lib._softmax_backward_data(lib.arange(3.), lib.arange(3.).softmax(0), 0, lib.float32)
lib._log_softmax_backward_data(lib.arange(3.), lib.arange(3.).log_softmax(0), 0, lib.float32)
lib._cast_Long(lib.ones(2))
lib._cast_Half(lib.ones(2))
lib._convert_indices_from_coo_to_csr(lib.tensor([0, 0, 2]), 4)
lib._convert_indices_from_coo_to_csr(lib.tensor([0, 0, 2]), 4, out_int32=True)
lib._convert_indices_from_csr_to_coo(lib.tensor([0, 2, 2, 3]), lib.tensor([1, 2, 0]))
lib._convert_indices_from_csr_to_coo(lib.tensor([0, 2, 2, 3]), lib.tensor([1, 2, 0]), transpose=True, out_int32=True)
lib._int_mm(lib.ones(2, 3, dtype=lib.int8), lib.full((3, 4), 100, dtype=lib.int8))
lib._unique(lib.tensor([2, 1, 2]), return_inverse=True)
lib._unique(lib.tensor([2, 1, 2]))
lib._unique2(lib.tensor([2, 1, 2]), True, True, True)
lib._is_all_true(lib.tensor([True, False])), lib._is_any_true(lib.tensor([True, False]))
lib._euclidean_dist(lib.arange(6.).view(3, 2), lib.arange(4.).view(2, 2))
lib.frobenius_norm(lib.arange(6.).view(3, 2), [0])
lib.nuclear_norm(lib.arange(6.).view(3, 2))
lib.norm_except_dim(lib.arange(6.).view(3, 2), 2, 1)
lib._weight_norm(lib.arange(6.).view(3, 2), lib.ones(3, 1))
lib.dsmm(lib.ones(2, 2), lib.ones(2, 2))
lib.cond(lib.tensor(True), lambda x: x + 1, lambda x: x - 1, (lib.ones(1),))
lib.newaxis
str(lib.legacy_contiguous_format).split('.')[-1]
lib.solve(lib.ones(1, 1), lib.ones(1, 1))
lib.symeig(lib.ones(1, 1))
lib.matrix_rank(lib.ones(1, 1))
lib.segment_reduce(lib.arange(6.), 'foo', lengths=lib.tensor([6]))
lib.segment_reduce(lib.arange(6.), 'sum')
lib.segment_reduce(lib.arange(6.), 'sum', lengths=lib.tensor([2, 1]))
lib.segment_reduce(lib.arange(6.), 'sum', lengths=lib.tensor([-1, 7]))
lib.segment_reduce(lib.arange(12.).view(2, 6), 'max', lengths=lib.tensor([[2, 4], [0, 6]]), axis=1)
lib.segment_reduce(lib.arange(6.), 'sum', offsets=lib.tensor([1, 3, 6]))
""".strip().splitlines()
EXPRESSIONS += [f"lib.segment_reduce(lib.arange(12.).view(6, 2), '{name}', lengths=lib.tensor([2, 0, 4]), initial={start})"
                for name in ("sum", "mean", "max", "min", "prod") for start in (None, 3.0)]
EXPRESSIONS += [f"grad(lambda x: lib.segment_reduce(x, '{name}', lengths=lib.tensor([2, 4])), lib.tensor([1., 2., 3., 5., 5., 4.]))"
                for name in ("sum", "mean", "max", "min", "prod")]


def plain(value):
    """As lists and words, to be compared across libraries."""
    if isinstance(value, torch.Tensor | claygrad.Tensor):
        return "tensor", str(value.dtype).split(".")[-1], plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(x) for x in value]
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-4, nan_ok=True)
    return value.replace("claygrad", "torch") if isinstance(value, str) else value


class StandingIn:
    """A module with the names that it has while claygrad stands in for torch."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name) if hasattr(self.module, name) else find(self.module.__name__, name)


def outcome(lib, text):
    def of(path):
        module = importlib.import_module(f"{lib.__name__}.{path}")
        return module if lib is torch else StandingIn(module)

    def grad(function, x):
        return lib.autograd.grad(function(x.requires_grad_()).sum(), x)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            got = plain(eval(text, {"lib": lib, "of": of, "grad": grad}))
        except Exception as refused:
            got = type(refused).__name__, str(refused).splitlines()[0][:60]
    return got, [str(w.message).splitlines()[0].split(" (Triggered")[0] for w in told if w.category is FutureWarning or "deprecated" in str(w.message)]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_private_helpers(text):
    wanted, got = outcome(torch, text), outcome(claygrad, text)
    assert got == wanted
