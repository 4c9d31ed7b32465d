"""Grad modes in their finer points: every way to say them, and what they leave behind."""

from __future__ import annotations

import threading

import pytest

from tests.support import leaf, raises, silent, warns

MODES = ["no_grad", "enable_grad", "inference_mode"]


def recording(lib):
    return lib.is_grad_enabled(), lib.is_inference_mode_enabled()


# --- as context managers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODES)
def test_every_mode_is_undone_when_its_block_ends_or_fails(lib, name):
    with pytest.raises(KeyError), getattr(lib, name)():
        raise KeyError
    assert recording(lib) == (True, False)
    with lib.no_grad():
        with getattr(lib, name)():
            pass
        assert recording(lib) == (False, False)


@pytest.mark.parametrize("name", MODES)
def test_every_mode_yields_none(lib, name):
    with getattr(lib, name)() as value:
        assert value is None


def test_a_mode_may_be_entered_again_after_it_ended(lib):
    mode = lib.no_grad()
    for _ in range(2):
        with mode:
            assert not lib.is_grad_enabled()
        assert lib.is_grad_enabled()


def test_set_grad_enabled_in_a_with_statement_restores_what_was_before_the_call(lib):
    with lib.no_grad():
        with lib.set_grad_enabled(True):
            assert lib.is_grad_enabled()
        assert not lib.is_grad_enabled()


def test_set_grad_enabled_takes_the_mode_by_name_and_nothing_but_a_bool(lib):
    lib.set_grad_enabled(mode=False)
    assert not lib.is_grad_enabled()
    lib.set_grad_enabled(True)
    with raises(lib, TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not int"):
        lib.set_grad_enabled(0)
    assert lib.is_grad_enabled()


def test_set_grad_enabled_tells_its_mode(lib):
    on = lib.set_grad_enabled(True)
    assert repr(on) == str(on)
    wanted = "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    assert repr(on) == wanted.replace("torch", lib.__name__)


def test_inference_mode_false_turns_recording_back_on(lib):
    x = leaf(lib, [1.0])
    with lib.inference_mode():
        assert recording(lib) == (False, True)
        with lib.inference_mode(False):
            assert recording(lib) == (True, False)
            assert (x * 2).requires_grad
        assert recording(lib) == (False, True)


def test_inference_mode_false_inside_no_grad_records(lib):
    with lib.no_grad():
        with lib.inference_mode(mode=False):
            assert recording(lib) == (True, False)
        assert recording(lib) == (False, False)


def test_enable_grad_inside_inference_mode_says_yes_but_records_nothing(lib):
    x = leaf(lib, [1.0])
    with lib.inference_mode(), lib.enable_grad():
        assert recording(lib) == (True, True)
        assert not (x * 2).requires_grad


# --- as decorators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("called", [True, False], ids=["with parentheses", "without"])
def test_a_decorated_function_keeps_name_doc_arguments_and_result(lib, name, called):
    mode = getattr(lib, name)

    def area(a, *, b=2):
        "a by b"
        return a * b, recording(lib)

    wrapped = (mode() if called else mode)(area)
    assert (wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__) == ("area", "a by b", area)
    with mode():
        inside = recording(lib)
    assert wrapped(3, b=4) == (12, inside)
    assert recording(lib) == (True, False)


def test_a_decorated_function_may_call_itself_and_fail(lib):
    @lib.no_grad()
    def down(n):
        assert not lib.is_grad_enabled()
        if n == 0:
            raise KeyError
        return down(n - 1)

    with pytest.raises(KeyError):
        down(3)
    assert lib.is_grad_enabled()


def test_a_decorated_method_gets_its_object(lib):
    class Model:
        factor = 3

        @lib.no_grad()
        def __call__(self, x):
            return x * self.factor

    assert not Model()(leaf(lib, [1.0])).requires_grad


def test_the_mode_of_a_decorator_is_the_one_it_was_made_with(lib):
    @lib.set_grad_enabled(False)
    def off():
        return lib.is_grad_enabled()

    @lib.inference_mode(False)
    def on():
        return recording(lib)

    assert lib.is_grad_enabled()
    assert off() is False
    with lib.inference_mode():
        assert on() == (True, False)
    assert lib.is_grad_enabled()


def test_decorating_a_class_warns_once_and_decorates_its_making(lib):
    text = (
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
        "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
        "method and nothing else."
    )
    with warns(lib, text, FutureWarning):

        @lib.no_grad()
        class Model:
            def __init__(self):
                self.made = lib.is_grad_enabled()

            def run(self):
                return lib.is_grad_enabled()

    model = Model()
    assert (model.made, model.run()) == (False, True)


# --- generator functions ---------------------------------------------------------------------------------------------


def test_a_decorated_generator_gets_what_is_sent_and_returns_its_value(lib):
    @lib.no_grad()
    def echo():
        got = []
        for _ in range(2):
            got.append((yield lib.is_grad_enabled()))
        return got, lib.is_grad_enabled()

    generator = echo()
    assert next(generator) is False
    assert lib.is_grad_enabled()
    assert generator.send("a") is False
    with pytest.raises(StopIteration) as end:
        generator.send("b")
    assert end.value.value == (["a", "b"], False)
    assert lib.is_grad_enabled()


def test_an_exception_thrown_into_a_decorated_generator_meets_its_mode(lib):
    @lib.no_grad
    def patient():
        try:
            yield 1
        except KeyError:
            yield ("caught", lib.is_grad_enabled())

    generator = patient()
    next(generator)
    assert generator.throw(KeyError()) == ("caught", False)
    assert lib.is_grad_enabled()


def test_an_exception_out_of_a_decorated_generator_leaves_the_mode(lib):
    @lib.no_grad()
    def short():
        yield 1
        raise KeyError

    generator = short()
    next(generator)
    with pytest.raises(KeyError):
        next(generator)
    assert lib.is_grad_enabled()


def test_closing_a_decorated_generator_runs_its_end_in_the_mode(lib):
    seen = []

    @lib.no_grad()
    def held():
        try:
            yield 1
        finally:
            seen.append(lib.is_grad_enabled())

    generator = held()
    next(generator)
    generator.close()
    assert seen == [False]
    assert lib.is_grad_enabled()


def test_two_decorated_generators_may_run_by_turns(lib):
    @lib.no_grad()
    def off():
        while True:
            yield lib.is_grad_enabled()

    @lib.enable_grad()
    def on():
        while True:
            yield lib.is_grad_enabled()

    a, b = off(), on()
    with lib.no_grad():
        assert [next(a), next(b), next(a), next(b)] == [False, True, False, True]
        assert not lib.is_grad_enabled()


# --- threads and anomaly mode ----------------------------------------------------------------------------------------


def test_a_thread_started_inside_a_mode_does_not_inherit_it(lib):
    seen = []
    with lib.inference_mode():
        thread = threading.Thread(target=lambda: seen.append(recording(lib)))
        thread.start()
        thread.join()
    assert seen == [(True, False)]


def test_a_mode_set_in_a_thread_stays_there(lib):
    thread = threading.Thread(target=lambda: lib.set_grad_enabled(False))
    thread.start()
    thread.join()
    assert lib.is_grad_enabled()


def test_detect_anomaly_warns_when_it_is_made(lib):
    text = (
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
        "debugging."
    )
    with warns(lib, text):
        lib.autograd.detect_anomaly()


def test_set_detect_anomaly_takes_effect_at_once_and_is_undone_by_a_block(lib):
    x = leaf(lib, [-1.0])

    def fails():
        try:
            x.sqrt().backward()
        except RuntimeError as error:
            return "returned nan values" in str(error)
        return False

    with silent():
        assert not fails()
    lib.autograd.set_detect_anomaly(True)
    assert fails()
    lib.autograd.set_detect_anomaly(True, check_nan=False)
    assert not fails()
    lib.autograd.set_detect_anomaly(False)
    with lib.autograd.set_detect_anomaly(True):
        assert fails()
    assert not fails()


def test_anomaly_mode_can_be_asked_for(lib):
    def state():
        return lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled()

    assert state() == (False, True)
    with lib.autograd.set_detect_anomaly(True, check_nan=False):
        assert state() == (True, False)
    assert state() == (False, True)


# --- Variable ---------------------------------------------------------------------------------------------------------


def test_a_variable_is_a_tensor_by_its_old_name(lib):
    variable = lib.autograd.Variable
    data = lib.ones(2)
    x = variable(data, requires_grad=True)
    assert type(x) is lib.Tensor
    assert (x.requires_grad, data.requires_grad) == (True, False)
    assert x.data_ptr() == data.data_ptr()
    assert isinstance(data, variable)
    assert not isinstance([1.0], variable)
    with raises(lib, TypeError, "Variable data has to be a tensor, but got list"):
        variable([1.0])


def test_a_mode_prints_as_an_object_of_its_module(lib):
    for name in MODES:
        assert repr(getattr(lib, name)()).startswith(f"<{lib.__name__}.autograd.grad_mode.{name} object at ")
