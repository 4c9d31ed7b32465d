"""Settings of the process, and the flags of backends."""

from __future__ import annotations

import pytest

from tests.support import fresh, raises, warns


def test_determinism(lib):
    try:
        assert lib.get_deterministic_debug_mode() == 0
        lib.use_deterministic_algorithms(True)
        assert lib.are_deterministic_algorithms_enabled()
        assert lib.get_deterministic_debug_mode() == 2
        lib.use_deterministic_algorithms(True, warn_only=True)
        assert lib.is_deterministic_algorithms_warn_only_enabled()
        assert lib.get_deterministic_debug_mode() == 1
        lib.set_deterministic_debug_mode("error")
        assert lib.get_deterministic_debug_mode() == 2
        with raises(lib, TypeError, "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not int"):
            lib.use_deterministic_algorithms(1)
        with raises(lib, RuntimeError, "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got x"):
            lib.set_deterministic_debug_mode("x")
        with raises(lib, RuntimeError, "invalid value of debug_mode, expected 0, 1, or 2, but got 3"):
            lib.set_deterministic_debug_mode(3)
        with raises(lib, TypeError, "debug_mode must be str or int, but got <class 'float'>"):
            lib.set_deterministic_debug_mode(1.5)
    finally:
        lib.set_deterministic_debug_mode(0)
    assert not lib.are_deterministic_algorithms_enabled()


def test_precision_of_products(lib):
    assert lib.get_float32_matmul_precision() == "highest"
    try:
        lib.set_float32_matmul_precision("high")
        assert lib.get_float32_matmul_precision() == "high"
        with warns(lib, "x is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect."):
            lib.set_float32_matmul_precision("x")
        with raises(lib, RuntimeError, "set_float32_matmul_precision expects a str, but got int"):
            lib.set_float32_matmul_precision(3)
    finally:
        lib.set_float32_matmul_precision("highest")


def test_denormals(lib):
    tiny = lib.tensor([1e-310], dtype=lib.float64)
    try:
        if lib.set_flush_denormal(True):
            assert (tiny * 1).item() == 0.0
    finally:
        lib.set_flush_denormal(False)
    assert (tiny * 1).item() == 1e-310
    with raises(lib, RuntimeError, "flush_denormal expects a bool, but got int"):
        lib.set_flush_denormal(1)


def test_threads_between_operations(lib):
    out = fresh(lib, """
        print(torch.get_num_interop_threads() >= 1)
        for value in (0, "a", 3, 4):
            try:
                torch.set_num_interop_threads(value)
            except RuntimeError as error:
                print(str(error).splitlines()[0])
        print(torch.get_num_interop_threads())
    """)
    assert out.splitlines() == [
        "True", "set_num_interop_threads expects a positive integer", "set_num_interop_threads expects an int, but got str",
        "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads called", "3"]


def test_flags_of_backends(lib):
    backends = lib.backends
    assert not backends.cudnn.is_available()
    assert backends.cudnn.version() is None
    assert backends.cudnn.enabled
    assert not backends.cudnn.benchmark
    backends.cudnn.benchmark = True
    backends.cudnn.deterministic = True
    assert backends.cudnn.benchmark
    with backends.cudnn.flags(enabled=False):
        assert not backends.cudnn.enabled
        assert not backends.cudnn.benchmark
    assert backends.cudnn.enabled
    assert backends.cudnn.benchmark
    backends.cudnn.benchmark = False
    backends.cudnn.deterministic = False
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        backends.cudnn.benchmark = 3
    assert backends.mkldnn.enabled
    with backends.mkldnn.flags(enabled=False):
        assert not backends.mkldnn.enabled
    assert backends.mkldnn.enabled
    assert not backends.mps.is_available()
    assert not backends.mps.is_built()
    assert not backends.cuda.is_built()
    assert isinstance(backends.mkl.is_available(), bool)
    assert isinstance(backends.openmp.is_available(), bool)
    assert backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_attention_kernels_of_a_gpu(lib):
    cuda = lib.backends.cuda
    assert cuda.flash_sdp_enabled()
    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled()
    cuda.enable_flash_sdp(True)
    assert cuda.math_sdp_enabled()
    assert cuda.mem_efficient_sdp_enabled()


def test_flags_can_be_closed(lib):
    out = fresh(lib, """
        torch.backends.disable_global_flags()
        print(torch.backends.flags_frozen())
        try:
            torch.backends.cudnn.benchmark = True
        except RuntimeError as error:
            print(str(error).splitlines()[0])
        with torch.backends.cudnn.flags(benchmark=True):
            print(torch.backends.cudnn.benchmark)
    """)
    assert out.splitlines() == [
        "True", (f"not allowed to set {lib.__name__}.backends.cudnn flags after disable_global_flags; please use flags() context "
        "manager instead"), "True"]


def test_random_states_are_forked(lib):
    lib.manual_seed(1)
    expected = lib.rand(2).tolist()
    lib.manual_seed(1)
    with lib.random.fork_rng():
        lib.manual_seed(99)
        lib.rand(5)
    assert lib.rand(2).tolist() == expected
    with lib.random.fork_rng(enabled=False):
        lib.manual_seed(1)
    assert lib.rand(2).tolist() == expected
    assert lib.initial_seed() == 1
