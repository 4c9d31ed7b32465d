"""Corners in which a value, a name or a warning was another than PyTorch's."""
from __future__ import annotations

import warnings

import pytest

NAMED = {
    "sort": "lib.sort(x, out=(f(), i()))", "max": "lib.max(x, 0, out=(f(), i()))", "mode": "lib.mode(x, 0, out=(f(), i()))",
    "topk": "lib.topk(x, 1, out=(f(), i()))", "cummax": "lib.cummax(x, 0, out=(f(), i()))", "aminmax": "lib.aminmax(x, out=(f(), f()))",
    "linalg_qr": "lib.linalg.qr(x, out=(f(), f()))", "linalg_svd": "lib.linalg.svd(x, out=(f(), f(), f()))",
    "slogdet": "lib.slogdet(x, out=(f(), f()))", "histogram": "lib.histogram(x, 2, out=(f(), f()))",
}


@pytest.mark.parametrize("name", NAMED)
def test_results_in_out_have_their_names_too(lib, name):
    x = lib.tensor([[2.0, 1.0], [3.0, 4.0]])
    scope = {"lib": lib, "x": x, "f": lambda: lib.empty(0), "i": lambda: lib.empty(0, dtype=lib.int64)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(NAMED[name], scope)
    assert type(result).__name__ == f"{name}_out"
    assert [getattr(result, field) is value for field, value in zip(FIELDS[name].split(), result)] == [True] * len(result)


FIELDS = {"sort": "values indices", "max": "values indices", "mode": "values indices", "topk": "values indices", "cummax": "values indices",
          "aminmax": "min max", "linalg_qr": "Q R", "linalg_svd": "U S Vh", "slogdet": "sign logabsdet", "histogram": "hist bin_edges"}


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
@pytest.mark.parametrize(("kind", "other", "said"), [
    ("float16", "float32", "c10::Half and output tensor dtype float"), ("int64", "float64", "long int and output tensor dtype double")])
def test_a_running_sum_in_place_keeps_its_dtype(lib, name, kind, other, said):
    x = lib.ones(3, dtype=getattr(lib, kind))
    with pytest.raises(RuntimeError, match=rf"^Bad in-place call: input tensor dtype {said} should match"):
        getattr(x, name)(0, dtype=getattr(lib, other))
    assert x.tolist() == [1, 1, 1]
    getattr(x, name)(0, dtype=x.dtype)


def test_a_complex_running_sum_in_real_numbers_warns_once(lib):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert lib.cumsum(lib.tensor([1 + 2j, 3j]), 0, dtype=lib.float32).tolist() == [1.0, 1.0]
    assert len(caught) <= 1


@pytest.mark.parametrize("run", ["lib.hamming_window(4, True, w)", "lib.hamming_window(4, True, 0.5, w)", "lib.kaiser_window(4, True, w)"])
def test_windows_do_not_lose_the_gradient_of_a_number(lib, run):
    with pytest.raises(TypeError):
        eval(run, {"lib": lib, "w": lib.tensor(2.0, requires_grad=True)})
    assert not eval(run, {"lib": lib, "w": lib.tensor(2.0)}).requires_grad


def test_one_hot_of_a_class_beyond_all_memory(lib):
    with pytest.raises(RuntimeError, match=r"^Storage size calculation overflowed"):
        lib.nn.functional.one_hot(lib.tensor([2**62]))


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_a_number_has_no_slices(lib, name):
    with pytest.raises(IndexError, match=r"^Dimension specified as 0 but tensor has no dimensions"):
        getattr(lib, name)(lib.tensor(5.0), dim=0)


def test_normalizing_rows_of_nothing_is_silent(lib):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = lib.ones(2, 0, requires_grad=True)
        lib.nn.functional.layer_norm(x, (0,)).sum().backward()
    assert x.grad.shape == (2, 0)


@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_the_cosine_of_vectors_too_long_for_their_dtype(lib, shape):
    x = lib.tensor([60000.0, -60000.0, 10.0], dtype=lib.float16).view(shape)
    assert lib.nn.functional.cosine_similarity(x, x, -1).tolist() in (0.0, [0.0], 1.0, [1.0])


def test_the_hooks_of_a_result(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    assert y._backward_hooks is None

    def hook(g):
        return g

    handle = y.register_hook(hook)
    assert list(y._backward_hooks.values()) == [hook]
    handle.remove()
    assert not y._backward_hooks


def test_a_class_with_dispatch_alone_is_not_asked_by_functions(lib):
    class Wrapper(lib.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return lib.Tensor._make_wrapper_subclass(cls, inner.shape)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return lib.ones(2)

    assert type(Wrapper(lib.zeros(2)) * 2) is lib.Tensor


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_quotients_of_half_precision_are_rounded_before_they_are_cut(lib, kind, mode):
    x = lib.tensor([11.0, -11.0, 7.5], dtype=getattr(lib, kind))
    y = lib.tensor([0.1, 0.1, 2.0], dtype=getattr(lib, kind))
    once = (x / y).float()                     # rounded to the dtype
    expected = once.floor() if mode == "floor" else once.trunc()
    assert lib.equal(lib.div(x, y, rounding_mode="trunc").float(), (x / y).float().trunc())
    assert (lib.div(x, y, rounding_mode=mode).float() - expected).abs().max() <= 1


def test_renorm_of_a_transposed_tensor_is_contiguous(lib):
    assert lib.rand(3, 4).t().renorm(2, 0, 0.5).stride() == (3, 1)
