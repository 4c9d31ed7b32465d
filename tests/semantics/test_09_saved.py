"""Section 9: writes to saved tensors. torch raises or is silently wrong; claygrad gives the gradient of the forward as it ran.

Every program is also run by the oracle inside torch's allow_mutation_on_saved_tensors, so the expected gradients are torch's own
wherever that context is right, and a formula computed out of place where it is not (`x.data = t`).
"""

from __future__ import annotations

import pytest

from tests.support import close, is_torch, leaf, raises
from tests.support.messages import SAVED


def _seen(lib):
    """Writes that torch detects: name -> program(x) for a leaf x of values [1, 2, 3], returning the output to sum."""
    ones, i = lib.ones(3), lib.tensor([0, 0, 2])

    def then(value, write):
        write()
        return value

    def squared(write):
        def program(x):
            y = x * 1
            return then(y * y, lambda: write(y))

        return program

    def saved_result(name, *arguments):
        def program(x):
            y = getattr(x, name)(*arguments)
            y.add_(1)
            return y

        return program

    def view_saved(x):
        y = x * 1
        v = y[:1]
        return then(v**2, lambda: y.add_(1))

    def constant(x):
        w = ones * 5
        return then(x * w, lambda: w.zero_())

    def leaf_under_no_grad(x):
        z = x * x
        with lib.no_grad():
            x.add_(1)
        return z

    def matmul_input(x):
        a = lib.arange(6.0).view(2, 3)
        o = a @ x.view(3, 1)
        a.mul_(2)
        return o

    def two_layers(x):
        w = x.view(1, 3).t() @ lib.ones(1, 3)
        o = lib.ones(1, 3) @ w @ w
        with lib.no_grad():
            w.mul_(2)
        return o

    def index(x):
        k = i.clone()
        return then(x[k], lambda: k.add_(-k + 1))

    def mask(x):
        m = lib.tensor([True, False, True])
        return then(lib.where(m, x * 2, x), lambda: m.logical_not_())

    def clamp(x):
        y = x * 1
        return then(y.clamp(1.5, 2.5), lambda: y.add_(1))

    def norm(x):
        y = x.norm()
        y.add_(1)
        return y

    def set_storage(x):
        w = ones * 5
        return then(x * w, lambda: w.set_(lib.zeros(3)))

    def under_inference(x):
        y = x * 1
        z = y * y
        with lib.inference_mode():
            y.add_(1)
        return z

    def element(x):
        y = (x * 1).view(3, 1) * ones
        y[0, 0] = y[0, 0] ** 2 + y[1, 1]
        return y

    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * value

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            result = value.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, gradient):
            return ctx.saved_tensors[0] * gradient

    def custom_input(x):
        y = x * 1
        return then(Square.apply(y), lambda: y.add_(1))

    def custom_output(x):
        return Exp.apply(x * 1).mul_(2)

    return {
        "z=y*y; y.add_": squared(lambda y: y.add_(1)),
        "z=y*y; y.detach().add_": squared(lambda y: y.detach().add_(1)),
        "z=y*y; y[:1].add_": squared(lambda y: y[:1].add_(1)),
        "z=y*y; y[0]=y[0]": squared(lambda y: y.__setitem__(0, y[0])),
        "v=y[:1]; v**2; y.add_": view_saved,
        "z=x*w; w.zero_": constant,
        "z=x*x; no_grad x.add_": leaf_under_no_grad,
        "o=i@W; i.mul_": matmul_input,
        "i@W@W; no_grad W.mul_": two_layers,
        "exp": saved_result("exp"),
        "sigmoid": saved_result("sigmoid"),
        "tanh": saved_result("tanh"),
        "relu": saved_result("relu"),
        "softmax": saved_result("softmax", 0),
        "sqrt": saved_result("sqrt"),
        "norm": norm,
        "x[idx]; idx.add_": index,
        "where; m.logical_not_": mask,
        "clamp; y.add_": clamp,
        "a.mul_(a)": lambda x: (a := x * 1).mul_(a),
        "a.div_(a)": lambda x: (a := x * 1).div_(a),
        "a.pow_(a)": lambda x: (a := x * 1).pow_(a),
        "a.exp_().mul_(2)": lambda x: (x * 1).exp_().mul_(2),
        "a.exp_().log_()": lambda x: (x * 1).exp_().log_(),
        "y[0,0]=y[0,0]**2+y[1,1]": element,
        "custom input": custom_input,
        "custom output": custom_output,
        "w.set_": set_storage,
        "inference_mode": under_inference,
    }


SEEN = (
    "z=y*y; y.add_|z=y*y; y.detach().add_|z=y*y; y[:1].add_|z=y*y; y[0]=y[0]|v=y[:1]; v**2; y.add_|z=x*w; "
    "w.zero_|z=x*x; no_grad x.add_|"
    "o=i@W; i.mul_|i@W@W; no_grad W.mul_|exp|sigmoid|tanh|relu|softmax|sqrt|norm|x[idx]; idx.add_|where; "
    "m.logical_not_|clamp; y.add_|"
    "a.mul_(a)|a.div_(a)|a.pow_(a)|a.exp_().mul_(2)|a.exp_().log_()|y[0,0]=y[0,0]**2+y[1,1]|custom input|custom "
    "output|w.set_|inference_mode"
).split("|")

# The gradient of the sum of the program's output at x = [1, 2, 3].
RIGHT = {
    "v=y[:1]; v**2; y.add_": [2.0, 0.0, 0.0],
    "z=x*w; w.zero_": [5.0, 5.0, 5.0],
    "o=i@W; i.mul_": [3.0, 5.0, 7.0],
    "i@W@W; no_grad W.mul_": [36.0, 36.0, 36.0],
    "exp": [2.718282, 7.389056, 20.085537],
    "sigmoid": [0.1966119, 0.1049936, 0.0451767],
    "tanh": [0.4199743, 0.0706508, 0.0098660],
    "relu": [1.0, 1.0, 1.0],
    "softmax": [0.0, 0.0, 0.0],
    "sqrt": [0.5, 0.3535534, 0.2886751],
    "norm": [0.2672612, 0.5345225, 0.8017837],
    "x[idx]; idx.add_": [2.0, 0.0, 1.0],
    "where; m.logical_not_": [2.0, 1.0, 2.0],
    "clamp; y.add_": [0.0, 1.0, 0.0],
    "a.div_(a)": [0.0, 0.0, 0.0],
    "a.pow_(a)": [1.0, 6.772589, 56.662532],
    "a.exp_().mul_(2)": [5.436564, 14.778112, 40.171074],
    "a.exp_().log_()": [1.0, 1.0, 1.0],
    "y[0,0]=y[0,0]**2+y[1,1]": [4.0, 4.0, 3.0],
    "custom output": [5.436564, 14.778112, 40.171074],
    "w.set_": [5.0, 5.0, 5.0],
}
SQUARE = [2.0, 4.0, 6.0]


def test_every_listed_program_is_tested(lib):
    assert list(_seen(lib)) == SEEN


@pytest.mark.parametrize("name", SEEN)
def test_a_write_that_torch_detects(lib, name):
    program = _seen(lib)[name]
    x = leaf(lib, [1.0, 2.0, 3.0])
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            program(x).sum().backward()
        if name == "w.set_":
            return  # the context does not see set_
        x = leaf(lib, [1.0, 2.0, 3.0])
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            program(x).sum().backward()
    else:
        program(x).sum().backward()
    assert close(x.grad, RIGHT.get(name, SQUARE), rtol=1e-4)


def test_a_step_between_two_backwards_of_one_loss(lib):
    x = leaf(lib, [1.0, 2.0])
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    with lib.no_grad():
        x -= 0.1 * x.grad
    if is_torch(lib):
        with raises(lib, RuntimeError, SAVED):
            loss.backward()
    else:
        loss.backward()
        assert close(x.grad, [4.0, 8.0])


UNSAVED = {
    "y.sin().mul_(2)": (lambda lib, y: y.sin().mul_(2), [1.0806046, -0.8322937]),
    "y.relu(); y.add_": (lambda lib, y: (y.relu(), y.add_(1))[0], [1.0, 1.0]),
    "y.sigmoid(); y.add_": (lambda lib, y: (y.sigmoid(), y.add_(1))[0], [0.1966119, 0.1049936]),
    "2/y; y.add_": (lambda lib, y: (2 / y, y.add_(1))[0], [-2.0, -0.5]),
    "y/2; y.add_": (lambda lib, y: (y / 2, y.add_(1))[0], [0.5, 0.5]),
    "cumsum": (lambda lib, y: (y.cumsum(0), y.add_(1))[0], [2.0, 1.0]),
    "max(dim)": (lambda lib, y: (y.max(0)[0], y.neg_())[0], [0.0, 1.0]),
    "sum": (lambda lib, y: (y.sum(), y.add_(1))[0], [1.0, 1.0]),
    "a*=x; a*=x": (lambda lib, y: lib.ones(2).mul_(y).mul_(y), [2.0, 4.0]),
    "a.mul_(y)": (lambda lib, y: (y * 1).mul_(y), [2.0, 4.0]),
    "a.pow_(3)": (lambda lib, y: (y * 1).pow_(3), [3.0, 12.0]),
    "a.sin_()": (lambda lib, y: (y * 1).sin_(), [0.5403023, -0.4161468]),
    "a.log_()": (lambda lib, y: (y * 1).log_(), [1.0, 0.5]),
    "a.clamp_()": (lambda lib, y: (y * 1).clamp_(0, 1.5), [1.0, 0.0]),
    "i@W constant i": (lambda lib, y: lib.ones(1, 2) @ y.view(2, 1), [1.0, 1.0]),
}


@pytest.mark.parametrize(("program", "gradient"), UNSAVED.values(), ids=UNSAVED.keys())
def test_a_write_that_touches_nothing_needed_is_right_in_both(lib, program, gradient):
    x = leaf(lib, [1.0, 2.0])
    program(lib, x * 1).sum().backward()
    assert close(x.grad, gradient)


def test_a_parameter_whose_value_is_not_needed_may_be_written(lib):
    w = lib.ones(2, 2, requires_grad=True)
    out = lib.tensor([[1.0, 2.0]]) @ w
    with lib.no_grad():
        w.mul_(2)
    out.sum().backward()
    assert close(w.grad, [[1.0, 1.0], [2.0, 2.0]])


# --- 9.2: silently wrong in torch through .data ---------------------------------------------------------------------


def _mask_case(lib, x):
    m = x > 3
    return lib.where(m, x * 2, x), lambda: m.data.logical_not_()


def _with_constant(make, write):
    def case(lib, x):
        w = lib.tensor([5.0, 6.0])
        return make(lib, x, w), lambda: write(w)

    return case


def _index_case(lib, x):
    idx = lib.tensor([0, 0])
    return x[idx], lambda: idx.data.fill_(2)


def _matmul_case(lib, x):
    i = lib.tensor([[1.0, 2.0]])
    return i @ x, lambda: i.data.zero_()


def _of_result(name, write):
    def case(lib, x):
        y = getattr(x, name)()
        return y, lambda: write(y)

    return case


def _of_input(function, write):
    return lambda lib, x: (function(x), lambda: write(lib, x))


DATA = {
    "x*x; x.data.mul_": ([3.0], _of_input(lambda x: x * x, lambda lib, x: x.data.mul_(10)), [60.0], [6.0]),
    "x*x; x.data=": (
        [3.0],
        _of_input(lambda x: x * x, lambda lib, x: setattr(x, "data", lib.tensor([30.0]))),
        [60.0],
        [6.0],
    ),
    "sum of squares; x.data+=1": (
        [1.0, 2.0, 3.0],
        _of_input(lambda x: x * x, lambda lib, x: setattr(x, "data", x.data.__iadd__(1))),
        [4.0, 6.0, 8.0],
        [2.0, 4.0, 6.0],
    ),
    "exp; y.data.zero_": ([0.0], _of_result("exp", lambda y: y.data.zero_()), [0.0], [1.0]),
    "sigmoid; y.data.add_": ([0.0], _of_result("sigmoid", lambda y: y.data.add_(1)), [-0.75], [0.25]),
    "x*w; w.data.zero_": (
        [1.0, 2.0],
        _with_constant(lambda lib, x, w: x * w, lambda w: w.data.zero_()),
        [0.0, 0.0],
        [5.0, 6.0],
    ),
    "i@W; i.data.zero_": ([[1.0, 1.0], [1.0, 1.0]], _matmul_case, [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [2.0, 2.0]]),
    "x[idx]; idx.data.fill_": ([1.0, 2.0, 3.0], _index_case, [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]),
    "relu; y.data.fill_": ([-1.0, 2.0], _of_result("relu", lambda y: y.data.fill_(1.0)), [1.0, 1.0], [0.0, 1.0]),
    "where; m.data.logical_not_": ([1.0, 5.0], _mask_case, [2.0, 1.0], [1.0, 2.0]),
    "prod; x.data[0]=": (
        [1.0, 5.0],
        _of_input(lambda x: x.prod(), lambda lib, x: x.data.__setitem__(0, 0.0)),
        [5.0, 0.0],
        [5.0, 1.0],
    ),
    "sqrt; z.data.fill_": ([4.0], _of_result("sqrt", lambda y: y.data.fill_(1.0)), [0.5], [0.25]),
}


@pytest.mark.parametrize(("values", "case", "wrong", "right"), DATA.values(), ids=DATA.keys())
def test_a_write_through_data_is_not_silently_wrong(lib, values, case, wrong, right):
    x = leaf(lib, values)
    output, write = case(lib, x)
    write()
    output.sum().backward()
    assert close(x.grad, wrong if is_torch(lib) else right)


# --- 9.3: memory handed out -----------------------------------------------------------------------------------------


def _never_silently_wrong(lib, output, x, right):
    """The settled rule for memory that claygrad cannot watch: right, or an error at backward."""
    try:
        output.sum().backward()
    except RuntimeError as error:
        assert not is_torch(lib)
        assert "numpy" in str(error)  # names the export
        return
    assert close(x.grad, right) is not is_torch(lib)


def test_a_constant_written_through_its_numpy_array(lib):
    x, w = leaf(lib, [1.0, 2.0]), lib.tensor([5.0, 6.0])
    z = x * w
    w.numpy()[:] = 0
    _never_silently_wrong(lib, z, x, [5.0, 6.0])


def test_a_constant_exported_before_the_forward_and_written_after(lib):
    x, w = leaf(lib, [1.0, 2.0]), lib.tensor([5.0, 6.0])
    exported = w.numpy()
    z = x * w
    exported[:] = 0
    _never_silently_wrong(lib, z, x, [5.0, 6.0])


def test_an_array_given_to_from_numpy_and_written_after(lib):
    import numpy

    x, a = leaf(lib, [1.0, 2.0]), numpy.array([5.0, 6.0], dtype=numpy.float32)
    z = x * lib.from_numpy(a)
    a[:] = 0
    _never_silently_wrong(lib, z, x, [5.0, 6.0])


def test_a_leaf_written_through_its_detached_numpy_array(lib):
    x = leaf(lib, [2.0])
    z = x**2
    x.detach().numpy()[0] = 100.0
    _never_silently_wrong(lib, z, x, [4.0])


def test_a_storage_filled_directly(lib):
    x, w = leaf(lib, [1.0, 2.0]), lib.tensor([5.0, 6.0])
    z = x * w
    w.untyped_storage().fill_(0)
    assert close(w, [0.0, 0.0])
    z.sum().backward()
    assert close(x.grad, [0.0, 0.0] if is_torch(lib) else [5.0, 6.0])


@pytest.mark.parametrize("size", [2, 100_000])
def test_memory_handed_out_small_or_large_is_never_silently_wrong(lib, size):
    x, w = lib.ones(size, requires_grad=True), lib.full((size,), 5.0)
    exported = w.numpy()
    z = x * w
    exported[size // 2] = 0
    _never_silently_wrong(lib, z, x, [5.0] * size)


def test_reading_handed_out_memory_is_harmless(lib):
    x, w = leaf(lib, [1.0, 2.0]), lib.tensor([5.0, 6.0])
    exported = w.numpy()
    z = x * w
    assert exported.sum() == 11.0
    z.sum().backward()
    assert close(x.grad, [5.0, 6.0])
