"""Section 13: devices."""

from __future__ import annotations

import pytest

from tests.support import close, is_torch, leaf, raises, renamed
from tests.support.messages import CUDA

NO_ACCELERATOR = "Cannot access accelerator device when none is available."
NO_DATA = "Cannot copy out of meta tensor; no data!"


# --- device objects -------------------------------------------------------------------------------------------------


def test_a_device_with_an_index(lib):
    d = lib.device("cuda:1")
    assert (repr(d), str(d), d.type, d.index) == ("device(type='cuda', index=1)", "cuda:1", "cuda", 1)
    assert (repr(lib.device("cpu")), lib.device("cuda").index) == ("device(type='cpu')", None)


def test_the_ways_to_name_a_device_agree(lib):
    assert lib.device("cuda", 1) == lib.device("cuda:1") == lib.device(lib.device("cuda:1"))
    assert lib.device(type="cuda", index=1) == lib.device("cuda:1")
    assert len({lib.device("cuda:1"), lib.device("cuda", 1), lib.device("cpu")}) == 2


def test_devices_compare_by_type_and_index_and_never_with_text(lib):
    assert lib.device("cpu") != lib.device("cpu:0")
    assert lib.ones(1).device != "cpu"
    assert lib.ones(1, device="cpu:1").device == lib.device("cpu")


@pytest.mark.parametrize("text", ["foo", "gpu", "CPU"])
def test_an_unknown_device_type_lists_the_known_ones(lib, text):
    known = (
        "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
        "mtia, "
        "privateuseone"
    )
    with raises(lib, RuntimeError, f"Expected one of {known} device type at start of device string: {text}"):
        lib.device(text)


def test_an_empty_device_string_is_refused(lib):
    with raises(lib, RuntimeError, "Device string must not be empty"):
        lib.device("")


@pytest.mark.parametrize("text", ["cuda:", "cuda:x", "cuda:-1", "cuda:00", "cuda: 0", "cuda:1:2"])
def test_a_malformed_device_string_is_refused(lib, text):
    with raises(lib, RuntimeError, f"Invalid device string: '{text}'"):
        lib.device(text)


def test_a_negative_index_is_refused(lib):
    with raises(lib, RuntimeError, "Device index must not be negative"):
        lib.device("cuda", -1)


def test_a_bare_index_needs_an_accelerator(lib):
    for use in (lambda: lib.device(0), lambda: lib.ones(1).to(5), lambda: lib.ones(1).cuda(0)):
        with raises(lib, RuntimeError, NO_ACCELERATOR):
            use()


@pytest.mark.parametrize(("arguments", "kinds"), [((None,), "NoneType"), ((1.5,), "float"), ((), "")])
def test_a_device_is_made_of_text_or_index(lib, arguments, kinds):
    text = f"device() received an invalid combination of arguments - got ({kinds}), but expected one of:…"
    with raises(lib, TypeError, text):
        lib.device(*arguments)


def test_a_device_is_the_default_of_factories_inside_its_block(lib):
    with lib.device("meta"):
        inside = lib.ones(2)
        assert lib.tensor([1.0]).device.type == "meta"
    assert inside.device == lib.device("meta")
    assert lib.ones(2).device == lib.device("cpu")


# --- CUDA without a GPU ---------------------------------------------------------------------------------------------


def test_cuda_reports_that_there_is_none(lib):
    assert lib.cuda.is_available() is False
    assert lib.cuda.device_count() == 0
    assert lib.version.cuda is None
    lib.cuda.manual_seed(0)
    lib.cuda.manual_seed_all(0)
    lib.cuda.empty_cache()
    assert lib.cuda.memory_allocated() == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda lib: lib.ones(1).cuda(),
        lambda lib: lib.ones(1).to("cuda"),
        lambda lib: lib.ones(1).to("cuda:0"),
        lambda lib: lib.ones(2, device="cuda"),
        lambda lib: lib.tensor([1.0], device="cuda"),
        lambda lib: lib.cuda.current_device(),
        lambda lib: lib.cuda.synchronize(),
        lambda lib: lib.cuda.get_device_name(),
    ],
    ids="cuda to_cuda to_cuda0 ones tensor current_device synchronize get_device_name".split(),
)
def test_what_needs_a_gpu_is_refused(lib, use):
    with raises(lib, AssertionError, CUDA):
        use(lib)


def test_cuda_tensor_types_are_not_available(lib):
    text = "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."
    with raises(lib, TypeError, text):
        lib.cuda.FloatTensor([1.0])


# --- mixing ---------------------------------------------------------------------------------------------------------


def _meta(lib, *shape):
    return lib.ones(*shape, device="meta")


def test_a_zero_dimensional_cpu_tensor_is_a_scalar_everywhere(lib):
    y = lib.tensor(1.0) + _meta(lib, 2)
    assert (y.device.type, y.shape) == ("meta", (2,))
    assert (_meta(lib, 2) * lib.tensor(2.0)).device.type == "meta"


ELEMENTWISE = {
    "+": lambda lib, a, b: a + b,
    "-": lambda lib, a, b: a - b,
    "*": lambda lib, a, b: a * b,
    "/": lambda lib, a, b: a / b,
    "==": lambda lib, a, b: a == b,
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "where": lambda lib, a, b: lib.where(lib.tensor([True, False]), a, b),
    "cat": lambda lib, a, b: lib.cat([a, b]),
    "stack": lambda lib, a, b: lib.stack([a, b]),
    "mse_loss": lambda lib, a, b: lib.nn.functional.mse_loss(a, b),
    "dot": lambda lib, a, b: lib.dot(a, b),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_two_devices_in_one_operation_are_refused(lib, name):
    call = ELEMENTWISE[name]
    with raises(lib, RuntimeError, "Tensor on device meta is not on the expected device cpu!"):
        call(lib, lib.ones(2), _meta(lib, 2))


def test_a_zero_dimensional_tensor_elsewhere_is_refused(lib):
    with pytest.raises(RuntimeError):
        lib.ones(2) + lib.tensor(1.0, device="meta")


def test_operands_the_other_way_round_name_the_other_device(lib):
    with raises(lib, RuntimeError, "Tensor on device cpu is not on the expected device meta!"):
        _meta(lib, 2) + lib.ones(2)


MIXED_IN_TORCH = {
    "cpu @ meta": lambda lib: lib.ones(2, 2) @ _meta(lib, 2, 2),
    "meta @ cpu": lambda lib: _meta(lib, 2, 2) @ lib.ones(2, 2),
    "mm": lambda lib: lib.mm(lib.ones(2, 2), _meta(lib, 2, 2)),
    "addmm": lambda lib: lib.addmm(lib.ones(2), lib.ones(2, 2), _meta(lib, 2, 2)),
    "linear": lambda lib: lib.nn.functional.linear(lib.ones(2, 2), _meta(lib, 2, 2)),
    "bmm": lambda lib: lib.bmm(_meta(lib, 1, 2, 2), lib.ones(1, 2, 2)),
    "einsum": lambda lib: lib.einsum("ij,jk->ik", _meta(lib, 2, 2), lib.ones(2, 2)),
    "cpu[meta]": lambda lib: lib.ones(2)[lib.zeros(1, dtype=lib.int64, device="meta")],
    "index_select": lambda lib: lib.ones(2).index_select(0, lib.zeros(1, dtype=lib.int64, device="meta")),
    "add_": lambda lib: lib.ones(2).add_(_meta(lib, 2)),
    "mul_": lambda lib: lib.ones(2).mul_(_meta(lib, 2)),
}


@pytest.mark.parametrize("name", MIXED_IN_TORCH)
def test_claygrad_refuses_every_mixture_that_torch_lets_through(lib, name):
    if is_torch(lib):
        MIXED_IN_TORCH[name](lib)  # no error: uninitialised values, or a meta tensor
        return
    with pytest.raises(RuntimeError) as caught:
        MIXED_IN_TORCH[name](lib)
    assert "meta" in str(caught.value)
    assert "cpu" in str(caught.value)


def test_there_is_no_data_to_copy_out_of_a_meta_tensor(lib):
    m = _meta(lib, 2)
    for use in (lambda: lib.ones(2).copy_(m), lambda: m.cpu(), lambda: m.to("cpu"), lambda: m.tolist()):
        with raises(lib, NotImplementedError, NO_DATA):
            use()


def test_a_meta_tensor_has_no_item(lib):
    s = _meta(lib, 2).sum()
    for use in (s.item, lambda: float(s), lambda: bool(s)):
        with raises(lib, RuntimeError, "Tensor.item() cannot be called on meta tensors"):
            use()


def test_a_meta_tensor_has_no_numpy_array(lib):
    text = "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    with raises(lib, TypeError, text):
        _meta(lib, 2).numpy()


def test_a_gradient_on_another_device_is_refused(lib):
    y = lib.ones(2, device="meta", requires_grad=True) * 2
    with raises(lib, RuntimeError, "invalid gradient at index 0 - expected device meta but got cpu"):
        y.backward(lib.ones(2))


def test_a_meta_tensor_prints_its_size(lib):
    assert repr(_meta(lib, 2)) == "tensor(..., device='meta', size=(2,))"


def test_shapes_and_dtypes_flow_through_meta_operations_and_backward(lib):
    x = lib.ones(4, 3, device="meta", requires_grad=True)
    w = lib.ones(3, 5, device="meta", dtype=lib.float32, requires_grad=True)
    y = (x @ w).relu().sum(0)
    assert (y.shape, y.dtype, y.device.type) == ((5,), lib.float32, "meta")
    y.sum().backward()
    assert (x.grad.shape, w.grad.shape, w.grad.device.type) == ((4, 3), (3, 5), "meta")


def test_the_error_for_mixed_devices_names_both_devices(lib):
    with pytest.raises(RuntimeError) as caught:
        lib.ones(2) + _meta(lib, 2)
    first = str(caught.value).splitlines()[0]
    assert "meta" in first
    assert "cpu" in first


def test_device_of_what_is_made_from_a_tensor_follows_it(lib):
    m = _meta(lib, 2)
    assert {t.device.type for t in (m.new_zeros(2), lib.zeros_like(m), m * 2, m.clone(), m.view(1, 2))} == {"meta"}
    assert renamed(lib, "torch.float32") == str(m.dtype)
    x = leaf(lib, [1.0])
    assert x.to("cpu") is x
    assert close(x.cpu(), [1.0])


def test_copying_into_a_meta_tensor_checks_the_shape_and_moves_nothing(lib):
    t = lib.empty(2, device="meta")
    assert t.copy_(lib.ones(2)) is t
    assert (t.device.type, t.dtype, t._version) == ("meta", lib.float32, 1)
    assert t.copy_(lib.tensor(1.0, dtype=lib.float64)).dtype == lib.float32
    with raises(lib, RuntimeError, "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"):
        t.copy_(lib.ones(3))
    with raises(lib, NotImplementedError, NO_DATA):
        lib.ones(2).copy_(t)
