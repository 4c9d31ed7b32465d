"""Every declared operation over its samples, by itself: derivatives against differences, and each form against the plain one.

What the right value is, tests/oracle/test_ops_oracle.py asks torch; here claygrad must agree with itself and with calculus.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy
import pytest

from tests.ops.cases import (
    declared,
    difference,
    first_line,
    flat,
    is_property,
    is_tensor,
    kind_of,
    numbers,
    only_in_place,
    ours,
    outcome,
    same_values,
    samples,
    show,
    tensors,
)
from tests.ops.directional import check, gradient_function
from tests.ops.factory import LAYOUTS, Build, Call

import claygrad  # isort: skip

SAID = declared()
KEYS = list(SAID)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]


def _having(test) -> list[str]:
    return [key for key, said in SAID.items() if test(said)]


@cache
def _samples(key: str, seed: int = 0) -> list[Call]:
    return samples(key, SAID[key], seed)


def _report(problems: list[str]) -> None:
    if problems:
        pytest.fail(f"{len(problems)} samples:\n" + "\n".join(problems), pytrace=False)


def _function_of(said, call: Call, how: Build):
    """A sample as a function of its tensors that require grad, and those tensors."""
    args, kwargs = call.build(how)
    inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]
    operation = ours(claygrad, said)

    def function(*values):
        rest = iter(values)

        def put(value):
            if is_tensor(value):
                return next(rest) if value.requires_grad else value
            return type(value)(put(v) for v in value) if isinstance(value, list | tuple) else value

        claygrad.manual_seed(0)
        first, second = [put(a) for a in args], {k: put(v) for k, v in kwargs.items()}
        if said.options.get("symmetric"):  # reads one triangle: the derivative is that along symmetric matrices
            first[0] = (first[0] + first[0].mH) * 0.5
        if only_in_place(said):
            first[0] = first[0] * 1
        return operation(*first, **second)

    return function, inputs


def _refuses_derivative(error: BaseException) -> bool:
    return "not implemented" in str(error)


DIFFERENTIABLE = _having(lambda said: said.differentiable)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_the_derivative_agrees_with_differences(key, seed):
    problems = []
    for call in _samples(key, seed):
        function, inputs = _function_of(SAID[key], call, Build(claygrad, grad=True))
        try:
            found = check(claygrad, function, inputs) if inputs else None
        except (RuntimeError, NotImplementedError) as error:
            found = None if _refuses_derivative(error) else f"{type(error).__name__}: {error}"
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_the_second_derivative_agrees_with_differences(key, seed):
    problems = []
    for call in _samples(key, seed):
        function, inputs = _function_of(SAID[key], call, Build(claygrad, grad=True))
        if not inputs:
            continue
        try:
            gradient, variables = gradient_function(claygrad, function, inputs)
            found = check(claygrad, gradient, variables, rtol=1e-4)
        except (RuntimeError, NotImplementedError) as error:
            found = None if _refuses_derivative(error) else f"{type(error).__name__}: {error}"
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("key", KEYS)
def test_the_layout_of_memory_makes_no_difference(key, layout):
    said, problems = SAID[key], []
    for call in _samples(key):
        if any(step[1] == "as_strided" for data in call.data() for step in data._steps) or "as_strided" in said.name:
            continue  # names memory, not elements
        plain = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, grad=True))
        other = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, grad=True, layout=layout))
        found = difference(other, plain)
        if found and not _depends_on_strides(said, other):
            problems.append(f"  {call}: {found.replace('torch', 'plain')}")
    _report(problems)


def _depends_on_strides(said, result) -> bool:
    """A view that cannot be had of this memory, and what reports the layout itself."""
    words = ("view size is not compatible", "stride", "storage_offset")
    refused = isinstance(result, RuntimeError) and any(word in str(result) for word in words)
    return refused or said.name in ("is_contiguous", "stride", "storage_offset")


@pytest.mark.parametrize(
    "key", _having(lambda s: s.method and s.public and not is_property(s) and "torch" in s.namespaces)
)
def test_the_method_does_what_the_function_does(key):
    said, problems = SAID[key], []
    if not isinstance(getattr(claygrad.Tensor, said.name, None), type(said.op)):
        pytest.fail(f"Tensor.{said.name} is missing", pytrace=False)
    for call in _samples(key):
        if not call.args or not is_tensor(call.build(Build(claygrad))[0][0]):
            continue
        plain = outcome(claygrad, ours(claygrad, said, raw=True), call, Build(claygrad, grad=True))
        method = outcome(claygrad, lambda x, *a, **k: getattr(x, said.name)(*a, **k), call, Build(claygrad, grad=True))
        found = difference(method, plain)
        if found:
            problems.append(f"  {call}: {found}")
    _report(problems)


@pytest.mark.parametrize("key", _having(lambda s: s.public and s.aliases))
def test_an_alias_is_the_same_operation(key):
    said = SAID[key]
    for alias in said.aliases:
        space, _, name = alias.rpartition(".")
        places = [space] if space else said.namespaces
        assert all(getattr(_space(place), name) is getattr(_space(said.namespaces[0]), said.name) for place in places)


def _space(dotted: str):
    found = claygrad
    for part in dotted.split(".") if dotted != "torch" else ():
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("key", _having(lambda s: s.inplace and not only_in_place(s) and (s.method or s.public)))
def test_the_in_place_form_writes_what_the_function_returns(key):
    said, problems = SAID[key], []
    for call in _samples(key):
        how = Build(claygrad)
        plain = outcome(claygrad, ours(claygrad, said), call, how)
        args, kwargs = call.build(how)
        if isinstance(plain, Exception) or not args or not is_tensor(args[0]):
            continue
        if plain.shape != args[0].shape or plain.dtype is not args[0].dtype:
            continue  # does not fit; the refusal is compared with torch's
        claygrad.manual_seed(0)
        version = args[0]._version
        result = getattr(args[0], said.name + "_")(*args[1:], **kwargs)
        if result is not args[0] or args[0]._version == version or not same_values(args[0], plain):
            problems.append(f"  {call}: {show(args[0])}, function {show(plain)}, version {args[0]._version}")
    _report(problems)


@pytest.mark.parametrize("key", _having(lambda s: s.inplace and s.differentiable and (s.method or s.public)))
def test_the_in_place_form_has_the_gradient_of_the_function(key):
    said, problems = SAID[key], []
    for call in _samples(key):
        plain = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, grad=True))
        args, kwargs = call.build(Build(claygrad, grad=True))
        if isinstance(plain, Exception) or not args or not is_tensor(args[0]) or only_in_place(said):
            continue
        if plain.shape != args[0].shape or plain.dtype is not args[0].dtype or not plain.requires_grad:
            continue
        inputs = [t for t in tensors([args, list(kwargs.values())]) if t.requires_grad]

        def gradients(output, inputs=inputs):
            return claygrad.autograd.grad(output.abs().sum(), inputs, allow_unused=True)

        try:
            claygrad.manual_seed(0)
            expected = gradients(ours(claygrad, said)(*args, **kwargs))
        except (RuntimeError, NotImplementedError) as error:
            assert _refuses_derivative(error), error
            continue
        claygrad.manual_seed(0)
        found = gradients(getattr(args[0] * 1, said.name + "_")(*args[1:], **kwargs))
        for got, want in zip(found, expected, strict=True):
            missing = got is None or want is None
            zero = missing and (got is want or not numbers(want if got is None else got).any())
            if not zero and (missing or not same_values(got, want)):
                problems.append(f"  {call}: {got}, function {want}")
    _report(problems)


@pytest.mark.parametrize("key", _having(lambda s: s.out and s.public))
def test_out_receives_what_the_function_returns(key):
    said, problems = SAID[key], []
    for call in _samples(key):
        plain = outcome(claygrad, ours(claygrad, said, raw=True), call, Build(claygrad))
        if isinstance(plain, Exception) or not all(map(is_tensor, flat(plain))):
            continue
        args, kwargs = call.build(Build(claygrad))
        targets = tuple(claygrad.empty_like(t) for t in flat(plain))
        out = targets if isinstance(plain, tuple) else targets[0]
        claygrad.manual_seed(0)
        result = ours(claygrad, said, raw=True)(*args, out=out, **kwargs)
        for got, target, want in zip(flat(result), targets, flat(plain), strict=True):
            if got.data_ptr() != target.data_ptr() or not same_values(target, want) or target._version == 0:
                problems.append(f"  {call}: {show(target)}, function {show(want)}")
    _report(problems)


@pytest.mark.parametrize("key", KEYS)
def test_meta_tensors_tell_shape_and_dtype(key):
    said, problems = SAID[key], []
    for call in _samples(key):
        plain = outcome(claygrad, ours(claygrad, said), call, Build(claygrad))
        if isinstance(plain, Exception) or not any(True for _ in call.data()):
            continue
        meta = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, device="meta"))
        if isinstance(meta, Exception):
            if not _needs_data(said, meta):
                problems.append(f"  {call}: {type(meta).__name__}: {first_line(meta)}")
            continue
        for got, want in zip(flat(meta), flat(plain), strict=True):
            if is_tensor(want) and (
                got.shape != want.shape or got.dtype is not want.dtype or got.device.type != "meta"
            ):
                problems.append(
                    f"  {call}: {got.dtype}{list(got.shape)} on {got.device}, cpu {want.dtype}{list(want.shape)}"
                )
    _report(problems)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("key", KEYS)
def test_meta_tensors_tell_strides(key, layout):
    said, problems = SAID[key], []
    for call in _samples(key):
        plain = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, layout=layout))
        if isinstance(plain, Exception) or not any(True for _ in call.data()):
            continue
        meta = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, layout=layout, device="meta"))
        if isinstance(meta, Exception):
            continue
        for got, want in zip(flat(meta), flat(plain), strict=True):
            if is_tensor(want) and want.numel() and got.stride() != want.stride():
                problems.append(f"  {call}: strides {got.stride()}, cpu {want.stride()}")
    _report(problems)


@pytest.mark.parametrize("call", [lambda x: x.clone(), lambda x: x.to(claygrad.float64), lambda x: x.bool(), lambda x: x[::2, 3:],
                                  lambda x: x.softmax(-1), lambda x: x @ x.mT, lambda x: x.cumsum(0), lambda x: x.sort(0)[0]])
def test_meta_tensors_may_be_of_any_size(call):
    made = call(claygrad.empty(1 << 20, 1 << 20, device="meta"))
    assert made.device.type == "meta"
    assert made.shape[0] in (1 << 20, 1 << 19)


def _needs_data(said, error: Exception) -> bool:
    """Operations whose result depends on values have nothing to say about a meta tensor, and say so."""
    return said.options.get("meta") == "data" or isinstance(error, NotImplementedError) or "meta tensor" in str(error)


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_backward_runs_on_meta_tensors(key):
    said, problems = SAID[key], []
    for call in _samples(key)[:2]:
        result = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, device="meta", grad=True))
        outputs = [] if isinstance(result, Exception) else [t for t in tensors(result) if t.requires_grad]
        if only_in_place(said) or not outputs:
            continue
        try:
            claygrad.autograd.backward(outputs, [claygrad.empty_like(t) for t in outputs])
        except (RuntimeError, NotImplementedError) as error:
            if not _refuses_derivative(error) and not _needs_data(said, error):
                problems.append(f"  {call}: {type(error).__name__}: {first_line(error)}")
    _report(problems)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("key", _having(lambda s: s.kind in ("pointwise", "reduction")))
def test_lower_precision_approximates_double(key, dtype):
    said, problems = SAID[key], []
    for call in _samples(key):
        if any(data._dtype for data in call.data()):
            continue
        rounded = call.map(lambda a, d=dtype: _rounded(a, d))
        wide, narrow = (
            outcome(claygrad, ours(claygrad, said), rounded, Build(claygrad, d)) for d in ("float64", dtype)
        )
        if isinstance(narrow, Exception) or isinstance(wide, Exception):
            continue
        for got, want in zip(tensors(narrow), tensors(wide), strict=True):
            if kind_of(got.dtype) == dtype and not same_values(got, want.to(got.dtype), loose=4):
                problems.append(f"  {call}: {show(got)}, double {show(want)}")
    _report(problems)


def _rounded(array: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """Numbers that the narrow dtype holds exactly, so that only the operation's own rounding counts."""
    return (
        numbers(claygrad.tensor(array).to(getattr(claygrad, dtype))).astype("float64")
        if array.dtype.kind == "f"
        else array
    )


ERRORS = [key for key, said in SAID.items() if said.errors is not None]


@pytest.mark.parametrize("key", ERRORS)
def test_what_is_refused_is_refused_in_the_words_promised(key):
    from tests.ops.factory import Factory

    said, problems = SAID[key], []
    for call, kind, text in said.errors(Factory(key)):
        result = outcome(claygrad, ours(claygrad, said), call, Build(claygrad, "float32"))
        exact = type(result) is kind or (isinstance(result, kind) and not isinstance(result, NotImplementedError))
        if not exact or not first_line(result).startswith(text.splitlines()[0].replace("claygrad.", "torch.")):
            problems.append(f"  {call}: {type(result).__name__}: {result}\n    promised {kind.__name__}: {text}")
    _report(problems)


def test_every_tensor_parameter_of_a_differentiable_operation_has_a_rule_or_a_word():
    silent = []
    for key, said in SAID.items():
        if said.kind == "composite" or not said.op.has_rules:
            continue
        silent += [f"{key}({name})" for name in said.op.tensor_params if not said.op.word(name)]
    assert silent == []


def test_a_call_records_no_warning_of_the_array_module():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        x = claygrad.tensor([0.0, -1.0, 1e308], dtype=claygrad.float64)
        for name in ("log", "sqrt", "exp", "reciprocal"):
            getattr(x, name)()
        x / 0
        x.to(claygrad.float32)
