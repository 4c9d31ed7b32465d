"""What schedules refuse and warn of, and how they work together with optimizers."""

from __future__ import annotations

import pytest

from tests.support import leaf, raises, silent, warns

ORDER = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
         "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
         "the first value of the learning rate schedule. See more details at "
         "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")


def sgd(lib, count=1, **options):
    return lib.optim.SGD([{"params": leaf(lib, [1.0])} for _ in range(count)], lr=0.1, **options)


def test_the_optimizer_steps_first(lib):
    optimizer = sgd(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    with warns(lib, ORDER):
        schedule.step()
    optimizer = sgd(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    with silent():
        optimizer.step()
        schedule.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.001)
    assert schedule.get_last_lr() == [optimizer.param_groups[0]["lr"]]


def test_a_step_that_was_replaced_is_noticed(lib):
    optimizer = sgd(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with warns(lib, "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make "
                    "sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"):
        schedule.step()


def test_old_ways_are_warned_of(lib):
    optimizer = sgd(lib)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    with warns(lib, "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. …"):
        schedule.step(4)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.001)
    with warns(lib, "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."):
        schedule.get_lr()


def test_hooks_of_a_wrapped_step_still_run(lib):
    optimizer = sgd(lib)
    lib.optim.lr_scheduler.StepLR(optimizer, 1)
    lib.optim.lr_scheduler.StepLR(optimizer, 1)
    seen = []
    optimizer.register_step_post_hook(lambda *args: seen.append(1))
    optimizer.step()
    assert seen == [1]


def test_a_schedule_of_ones_own(lib):
    class Halving(lib.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2 ** self.last_epoch for base in self.base_lrs]

    optimizer = sgd(lib)
    schedule = Halving(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.05]
    assert isinstance(schedule, lib.optim.lr_scheduler.LRScheduler)
    assert issubclass(lib.optim.lr_scheduler._LRScheduler, lib.optim.lr_scheduler.LRScheduler)
    with raises(lib, NotImplementedError, ""):
        lib.optim.lr_scheduler.LRScheduler(optimizer)


def test_resuming_needs_the_first_rates(lib):
    optimizer = sgd(lib)
    with pytest.raises(KeyError, match=r"param 'initial_lr' is not specified in param_groups\[0\] when resuming scheduler"):
        lib.optim.lr_scheduler.StepLR(optimizer, 1, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 0.1
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    assert schedule.last_epoch == 4


REFUSALS = [
    (lambda s, o: s.StepLR(3, 1), TypeError, "int is not an Optimizer"),
    (lambda s, o: s.ReduceLROnPlateau(3), TypeError, "int is not an Optimizer"),
    (lambda s, o: s.LambdaLR(o, [abs]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda s, o: s.MultiplicativeLR(o, [3, 4]), TypeError, "lr_lambda should be a function, but got int"),
    (lambda s, o: s.ConstantLR(o, 2.0), ValueError, "Constant multiplicative factor expected to be between 0 and 1."),
    (lambda s, o: s.LinearLR(o, 0.0), ValueError,
     "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."),
    (lambda s, o: s.LinearLR(o, 0.5, 2.0), ValueError, "Ending multiplicative factor expected to be between 0 and 1."),
    (lambda s, o: s.SequentialLR(o, [], []), ValueError,
     "SequentialLR expects at least one scheduler, but got no scheduler."),
    (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [3]), ValueError,
     ("Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got "
     "number of schedulers 1 and the number of milestones to be equal to 1")),
    (lambda s, o: s.SequentialLR(o, [3], []), TypeError,
     "SequentialLR at index 0 should have `optimizer` as its attribute."),
    (lambda s, o: s.ChainedScheduler([]), ValueError,
     "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."),
    (lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), ValueError,
     ("ChainedScheduler does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
     "calling `step`, but got one at index 0 in the given schedulers sequence.")),
    (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0."),
    (lambda s, o: s.ReduceLROnPlateau(o, "low"), ValueError, "mode low is unknown!"),
    (lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="far"), ValueError, "threshold mode far is unknown!"),
    (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]), ValueError, "expected 2 min_lrs, got 1"),
    (lambda s, o: s.CyclicLR(o, [1], 2), ValueError,
     "base_lr must have the same length as optimizer.param_groups. base_lr has 1 values, param_groups has 2."),
    (lambda s, o: s.CyclicLR(o, 1, 2, mode="x"), ValueError, "mode is invalid and scale_fn is None"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0, but got 0"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "a"), ValueError,
     "Expected float or int eta_min, but got a of type <class 'str'>"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1), ValueError, "Expected non-negative epoch, but got -1"),
    (lambda s, o: s.OneCycleLR(o, 0.1), ValueError, "You must define either total_steps OR (epochs AND steps_per_epoch)"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 0), ValueError, "Expected positive integer total_steps, but got 0"),
    (lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1), ValueError, "Expected positive integer epochs, but got 0"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 10, pct_start=2.0), ValueError,
     "Expected float between 0 and 1 pct_start, but got 2.0"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 10, anneal_strategy="x"), ValueError,
     "anneal_strategy must be one of 'cos' or 'linear', instead got x"),
]


@pytest.mark.parametrize(("make", "kind", "text"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_schedules_refuse(lib, make, kind, text):
    with raises(lib, kind, text):
        make(lib.optim.lr_scheduler, sgd(lib, 2))


def test_momentum_is_cycled_where_there_is_some(lib):
    p = leaf(lib, [1.0])
    for make in (lambda o: lib.optim.lr_scheduler.CyclicLR(o, 0.1, 0.2),
                 lambda o: lib.optim.lr_scheduler.OneCycleLR(o, 0.1, 10)):
        with raises(lib, ValueError, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"):
            make(lib.optim.Adagrad([p]))


def test_one_cycle_ends(lib):
    optimizer = sgd(lib)
    schedule = lib.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)
    optimizer.step()
    for _ in range(3):
        schedule.step()
    with raises(lib, ValueError, "Tried to step 4 times. The specified number of total steps is 3"):
        schedule.step()


# Averages of weights

def test_one_cycle_takes_a_state_that_holds_its_function(lib):
    def made():
        optimizer = lib.optim.SGD([leaf(lib, [1.0])], lr=0.1, momentum=0.9)
        return lib.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=8)

    old, new = made(), made()
    del old._anneal_func_type
    state = old.state_dict()
    state["anneal_func"] = lib.optim.lr_scheduler.OneCycleLR._annealing_linear
    old.load_state_dict(state)
    new._anneal_func_type = "linear"
    for _ in range(7):
        for schedule in (old, new):
            schedule.optimizer.step()
            schedule.step()
        assert old.get_last_lr() == new.get_last_lr()


def test_the_mean_of_weights(lib):
    model = lib.nn.Linear(2, 1)
    averaged = lib.optim.swa_utils.AveragedModel(model)
    total = lib.zeros(1, 2)
    for step in range(4):
        model.weight.data.fill_(float(step))
        total += model.weight.data
        averaged.update_parameters(model)
    assert lib.allclose(averaged.module.weight, total / 4)
    assert averaged.n_averaged.item() == 4
    assert "n_averaged" in averaged.state_dict()
    assert averaged(lib.ones(1, 2)).shape == (1, 1)


@pytest.mark.parametrize("several", [False, True])
def test_moving_averages(lib, several):
    utils = lib.optim.swa_utils
    how = {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)} if several else {"avg_fn": utils.get_ema_avg_fn(0.9)}
    model = lib.nn.Linear(1, 1)
    averaged = utils.AveragedModel(model, **how)
    expected = None
    for step in range(5):
        model.weight.data.fill_(float(step))
        averaged.update_parameters(model)
        expected = float(step) if expected is None else 0.9 * expected + 0.1 * step
    assert averaged.module.weight.item() == pytest.approx(expected)
    with raises(lib, ValueError, "Invalid decay value 2 provided. Please provide a value in [0,1] range."):
        utils.get_ema_avg_fn(2)
    with raises(lib, AssertionError, "Only one of avg_fn and multi_avg_fn should be provided"):
        utils.AveragedModel(model, avg_fn=abs, multi_avg_fn=abs)


@pytest.mark.parametrize("use_buffers", [False, True])
def test_buffers_are_copied_or_averaged(lib, use_buffers):
    model = lib.nn.BatchNorm1d(2)
    averaged = lib.optim.swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in (1.0, 3.0):
        model.running_mean.fill_(value)
        averaged.update_parameters(model)
    assert averaged.module.running_mean.tolist() == ([2.0, 2.0] if use_buffers else [3.0, 3.0])


def test_batch_norms_are_measured_anew(lib):
    model = lib.nn.Sequential(lib.nn.BatchNorm1d(2, momentum=0.3)).eval()
    batches = [lib.tensor([[0.0, 1.0], [2.0, 3.0]]), (lib.tensor([[4.0, 5.0], [6.0, 7.0]]), "target")]
    lib.optim.swa_utils.update_bn(batches, model)
    assert model[0].running_mean.tolist() == [3.0, 4.0]
    assert model[0].momentum == 0.3
    assert not model.training


def test_what_averaged_schedules_refuse(lib):
    swalr = lib.optim.swa_utils.SWALR
    with raises(lib, ValueError, "anneal_strategy must be one of 'cos' or 'linear', instead got x"):
        swalr(sgd(lib), 0.1, anneal_strategy="x")
    with raises(lib, ValueError, "anneal_epochs must be equal or greater than 0, got -1"):
        swalr(sgd(lib), 0.1, anneal_epochs=-1)
    with raises(lib, ValueError, "swa_lr must have the same length as optimizer.param_groups. swa_lr has 2 values, param_groups "
                                 "has 1."):
        swalr(sgd(lib), [0.1, 0.2])
