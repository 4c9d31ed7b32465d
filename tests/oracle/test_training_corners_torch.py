"""Small programs from the corners of training, with each library: deprecated names, classes meant for subclassing,
functions beneath the usual ones. Values, or the error's type and first line, are PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.utils.prune
import torch.utils.dlpack

import claygrad
from tests.oracle.test_training_parts_torch import agree


def deprecated_fill(name: str, *args: Any) -> Any:
    def program(t: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(t.nn.init, name)(t.empty(4, 4, 3) if name == "dirac" else t.empty(4, 5), *args)
    return program


def fuse(t: Any) -> Any:
    conv, bn = t.nn.Conv2d(2, 3, 3), t.nn.BatchNorm2d(3)
    linear, bn1 = t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)
    for one in (bn, bn1):
        t.nn.init.uniform_(one.weight)
        t.nn.init.uniform_(one.bias)
        one.running_mean.uniform_()
        one.running_var.uniform_()
    made = [*t.nn.utils.fuse_conv_bn_weights(conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias),
            *t.nn.utils.fuse_conv_bn_weights(conv.weight, None, bn.running_mean, bn.running_var, bn.eps, None, None),
            *t.nn.utils.fuse_linear_bn_weights(linear.weight, linear.bias, bn1.running_mean, bn1.running_var, bn1.eps,
                                               bn1.weight, bn1.bias)]
    return made, [type(one).__name__ for one in made]


def prune_by_class(t: Any) -> Any:
    prune = t.nn.utils.prune
    made = []
    for kind, options in [(prune.RandomUnstructured, {"amount": 0.4}), (prune.RandomStructured, {"amount": 2, "dim": 1}),
                          (prune.L1Unstructured, {"amount": 3}), (prune.LnStructured, {"amount": 1, "n": 2, "dim": 0})]:
        layer = t.nn.Linear(5, 4)
        method = kind.apply(layer, "weight", **options)
        made.append((layer.weight_mask, layer.weight, type(method).__name__, method.PRUNING_TYPE))
    layer = t.nn.Linear(2, 2)
    prune.CustomFromMask.apply(layer, "bias", t.tensor([1, 0]))
    return made, layer.bias, sorted(layer.state_dict())


def averages(t: Any) -> Any:
    swa = t.optim.swa_utils
    old, new = [t.randn(3), t.randn(2)], [t.randn(3), t.randn(2)]
    kept = [one.clone() for one in old]
    swa.get_swa_multi_avg_fn()(kept, new, t.tensor(3))
    other = [one.clone() for one in old]
    swa.get_ema_multi_avg_fn(0.7)(other, new, t.tensor(3))
    return (kept, other, swa.get_swa_avg_fn()(old[0], new[0], t.tensor(4)), swa.get_swa_avg_fn()(old[0], new[0], 4),
            swa.get_ema_avg_fn(0.9)(old[0], new[0], 4))


def registry(t: Any) -> Any:
    d = t.distributions

    class Even(d.constraints.Constraint):
        is_discrete = True
        event_dim = 0

        def check(self, value: Any) -> Any:
            return value % 2 == 0

    own = d.constraint_registry.ConstraintRegistry()
    own.register(Even)(lambda constraint: d.AffineTransform(0.0, 2.0))
    even = Even()
    return even.check(t.tensor([1.0, 2.0])), own(even)(t.tensor([3.0])), repr(even), d.constraints.is_dependent(even)


def dependent(t: Any) -> Any:
    d = t.distributions

    class Below(d.Distribution):
        arg_constraints: ClassVar = {"high": d.constraints.real}

        def __init__(self, high: Any) -> None:
            self.high = high
            super().__init__(high.shape, validate_args=True)

        @d.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self) -> Any:
            return d.constraints.less_than(self.high)

        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value

        @d.utils.lazy_property
        def twice(self) -> Any:
            return self.high * 2

    one = Below(t.tensor([1.0, 2.0]))
    return (d.constraints.is_dependent(Below.support), one.support.check(t.tensor([1.5, 1.5])), one.twice,
            one.twice is one.twice, one.log_prob(t.tensor([1.5, 1.5])))


def own_sampler(t: Any) -> Any:
    class Backwards(t.utils.data.Sampler):
        def __init__(self, data: Any) -> None:
            self.data = data

        def __iter__(self) -> Any:
            return iter(range(len(self.data) - 1, -1, -1))

        def __len__(self) -> int:
            return len(self.data)

    data = t.utils.data.TensorDataset(t.arange(5.0))
    loader = t.utils.data.DataLoader(data, batch_size=2, sampler=Backwards(data))
    return [batch for batch, in loader], len(loader)


def beneath_checkpoint(t: Any) -> Any:
    c = t.utils.checkpoint
    x = t.ones(2, requires_grad=True)
    y, n = c.detach_variable((x * 2, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        c.check_backward_validity([t.ones(1)])
    before = c.DefaultDeviceType.get_device_type()
    c.DefaultDeviceType.set_device_type("cpu")
    now = c.DefaultDeviceType.get_device_type()
    c.DefaultDeviceType.set_device_type(before)
    return (y.requires_grad, y.is_leaf, n, [str(one.message) for one in caught], before, now, c.get_device_states(x),
            [type(one).__name__ for one in c.noop_context_fn()])


def data_parallel_states(t: Any) -> Any:
    """A state saved from a wrapped model, loaded into a plain one."""
    wrapped = t.nn.DataParallel(t.nn.Linear(2, 2))
    state = wrapped.state_dict()
    t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    plain = t.nn.Linear(2, 2)
    return str(plain.load_state_dict(state)), plain.weight, wrapped.module.weight


PROGRAMS = {"sparse": deprecated_fill("sparse", 0.4), "dirac": deprecated_fill("dirac"), "fuse": fuse,
            "prune": prune_by_class, "averages": averages, "registry": registry, "dependent": dependent,
            "sampler": own_sampler, "checkpoint": beneath_checkpoint, "wrapped": data_parallel_states}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_in_both(name: str):
    agree(PROGRAMS[name])


LAZY = {
    "method": lambda t, w: w.sum(), "operator": lambda t, w: w + 1, "linear": lambda t, w: t.nn.functional.linear(t.ones(2, 2), w),
    "vector": lambda t, w: t.nn.utils.parameters_to_vector([w]), "fill": lambda t, w: t.nn.init.zeros_(w),
    "compared": lambda t, w: w == 1, "item": lambda t, w: w[0], "length": lambda t, w: len(w), "list": lambda t, w: w.tolist(),
}


@pytest.mark.parametrize("name", LAZY)
def test_parameters_without_a_shape_are_refused(name: str):
    """Which function refuses is said in the words of its build; the rest is PyTorch's."""
    for lib in (torch, claygrad):
        with pytest.raises(ValueError, match=r"^Attempted to use an uninitialized parameter in <"):
            LAZY[name](lib, lib.nn.LazyLinear(3).weight)


def test_tensors_pass_from_one_library_to_the_other():
    mine = claygrad.arange(3.0)
    theirs = torch.utils.dlpack.from_dlpack(claygrad.utils.dlpack.to_dlpack(mine))
    back = claygrad.utils.dlpack.from_dlpack(theirs)
    theirs[1] = 7
    assert mine.tolist() == back.tolist() == [0.0, 7.0, 2.0]
