"""The kernels of `cuda`, from their own text: compiled for GPUs (which of them are at hand does not matter), and run on the host.

`host_cuda.hpp` gives CUDA's words a meaning on the CPU, and the stand-in for CuPy compiles with it what CuPy would compile with NVRTC.
So the values here are those of the kernels, through the native forms of their operations, forward and backward.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import claygrad as torch
from claygrad.cuda._kernels.source import FAMILIES, kernels_of, source_of
from claygrad.devices import table_of, use
from claygrad.devices._cuda import Cuda
from claygrad.nn import functional as F
from tests.devices.compare import differences
from tests.devices.fake_cupy import FakeCupy, _data, errstate
from tests.devices.host_kernels import COMPILER
from tests.devices.strict import Array
from tests.devices.test_operations import KEYS, LACKING

NVCC = shutil.which("nvcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each kernel ran."""
    monkeypatch.setattr(Array, "data", property(_data), raising=False)
    monkeypatch.setattr(Array, "device", property(lambda self: FakeCupy.cuda.Device(0)), raising=False)
    use("cuda", lambda: Cuda(FakeCupy(), errstate))
    kernels, counted = table_of("cuda").steps.kernels, Counter[str]()
    plainly = kernels.run

    def run(family: str, entry: str, *rest: Any) -> None:
        counted[entry] += 1
        plainly(family, entry, *rest)
    kernels.run = run
    yield counted
    use("cuda", None)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.skipif(NVCC is None, reason="no nvcc; make test-cuda compiles with CuPy's NVRTC")
def test_a_family_compiles(family, arch, tmp_path):
    (tmp_path / "k.cu").write_text(source_of(family))
    done = subprocess.run([str(NVCC), "-ptx", "-std=c++17", f"-arch={arch}", "-Werror", "all-warnings", "k.cu", "-o", "k.ptx"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "k.ptx").read_text()
    assert [k.entry for k in kernels_of(family) if f".entry {k.entry}(" not in text] == []


def test_what_a_launch_refuses(runs):
    kernels = table_of("cuda").steps.kernels
    with pytest.raises(TypeError, match="softmax_rows_f4 takes 4 arguments, 1 were given"):
        kernels.run("softmax", "softmax_rows_f4", 1, 32, None)


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("key", KEYS)
def test_an_operation_does_by_kernels_what_it_does_on_the_cpu(key, layout, runs):
    found = [text for word, text in differences(key, "cuda", "float64", layout) if word == "wrong" and "strides" not in text]
    assert not found, "\n".join(found)


# Sizes that ask more of a kernel than the samples do: several tiles, rows longer than a block, blocks that are not full.

def _attention(**how: Any) -> Callable[[Any], Any]:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how)


_KEEP = (torch.arange(37)[:, None] * 7 + torch.arange(70)) % 5 != 0
_NUMBERS = torch.arange(3000) * 7 % 50
CASES: dict[str, list[tuple[Callable[..., Any], list[tuple[int, ...]]]]] = {
    "softmax": [(lambda x: x.softmax(-1), [(3, 3000)]), (lambda x: x.log_softmax(-1), [(2, 700)]), (lambda x: x.softmax(1), [(2, 300, 3)]),
                (lambda x: x.log_softmax(0), [(5, 400)])],
    "norm": [(lambda x, w, b: F.layer_norm(x, (900,), w, b), [(37, 900), (900,), (900,)]),
             (lambda x, w: F.rms_norm(x, (70,), w), [(50, 70), (70,)]),
             (lambda x, w, b: F.group_norm(x, 2, w, b), [(3, 6, 20, 9), (6,), (6,)]),
             (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(4, 5, 21, 11), (5,), (5,)]),
             (lambda x: F.batch_norm(x, torch.zeros(5).to(x), torch.ones(5).to(x)), [(4, 5, 30)])],
    "loss": [(lambda x: F.cross_entropy(x, (torch.arange(40) % 33).to(x.device), ignore_index=3), [(40, 600)])],
    "attention": [(_attention(), [(2, 3, 37, 40), (2, 3, 70, 40), (2, 3, 70, 40)]),
                  (_attention(is_causal=True), [(1, 2, 75, 17), (1, 2, 75, 17), (1, 2, 75, 17)]),
                  (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, _KEEP.to(q.device)), [(1, 2, 37, 64), (1, 2, 70, 64), (1, 2, 70, 64)]),
                  (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.linspace(-1, 1, 70).to(q).expand(2, 1, 9, 70)),
                   [(2, 3, 9, 8), (2, 3, 70, 8), (2, 3, 70, 8)])],
    "pool": [(lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 3, 40, 33)]), (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), [(2, 3, 40, 33)]),
             (lambda x: F.max_pool3d(x, 2), [(1, 2, 6, 6, 6)]), (lambda x: F.avg_pool1d(x, 5, 3), [(2, 3, 300)])],
    "columns": [(lambda x, w, b: F.conv2d(x, w, b, 2, 1), [(3, 4, 20, 17), (6, 4, 3, 3), (6,)]),
                (lambda x, w, b: F.conv2d(x, w, b, groups=4, dilation=2), [(2, 4, 20, 17), (8, 1, 3, 3), (8,)]),
                (lambda x, w: F.conv2d(x, w, None, (2, 1), (1, 2), groups=3), [(3, 3, 21, 10), (3, 1, 5, 4)]),
                (lambda x, w, b: F.conv1d(x, w, b, 2, 3, groups=5), [(2, 5, 700), (10, 1, 7), (10,)]),
                (lambda x, w: F.conv3d(x, w, None, 1, 1, 2, 2), [(2, 2, 6, 7, 8), (4, 1, 3, 2, 3)]),
                (lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1, 6), [(2, 6, 9, 8), (6, 1, 3, 3)]),
                (lambda x, w: F.conv2d(x, w, groups=2), [(2, 4, 9, 8), (6, 2, 3, 3)]),
                (lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1), [(2, 4, 9, 8), (4, 3, 3, 3)]),
                (lambda x, w: F.conv3d(x, w), [(1, 2, 7, 7, 7), (3, 2, 3, 3, 3)])],
    "index": [(lambda x: x.gather(1, (torch.arange(600).view(3, 200) % 50).to(x.device)), [(3, 50)]),
              (lambda x: F.embedding(_NUMBERS.to(x.device), x), [(50, 9)])],
    "sums": [(lambda x: x.gather(1, (torch.arange(600).view(3, 200) % 50).to(x.device)), [(3, 50)]),
             (lambda x: F.embedding(_NUMBERS.to(x.device), x, padding_idx=4), [(50, 9)])],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("family", CASES)
def test_larger_sizes_and_every_kernel(family, dtype, runs):
    for call, shapes in CASES[family]:
        torch.manual_seed(0)
        here = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
        there = [x.detach().to("cuda").requires_grad_() for x in here]
        made, wanted = call(*there), call(*here)
        weights = torch.randn(wanted.shape, dtype=dtype)
        slack = {"rtol": 2e-4, "atol": 2e-5} if dtype is torch.float32 else {"rtol": 1e-9, "atol": 1e-11}
        torch.testing.assert_close(made.cpu(), wanted, **slack)
        given = torch.autograd.grad((made * weights.to("cuda")).sum(), there)
        for grad, want in zip(given, torch.autograd.grad((wanted * weights).sum(), here), strict=True):
            torch.testing.assert_close(grad.cpu(), want, **slack)
    kind = "f4" if dtype is torch.float32 else "f8"
    assert {k.entry for k in kernels_of(family) if k.entry.endswith(kind)} <= set(runs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("family", [family for family in CASES if family not in ("index", "loss")])      # a loss of halves: log_softmax
def test_halves_are_computed_in_float32_by_the_same_kernels(family, dtype, runs):
    for call, shapes in CASES[family]:
        torch.manual_seed(0)
        here = [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]
        there = [x.detach().to("cuda").requires_grad_() for x in here]
        made, wanted = call(*there), call(*here)
        assert made.dtype is wanted.dtype
        slack = {"rtol": 2e-2, "atol": 2e-2}
        torch.testing.assert_close(made.cpu(), wanted, **slack)
        weights = torch.randn(wanted.shape).to(dtype)
        given = torch.autograd.grad((made * weights.to("cuda")).sum(), there)
        for grad, want in zip(given, torch.autograd.grad((wanted * weights).sum(), here), strict=True):
            assert grad.dtype is dtype
            torch.testing.assert_close(grad.cpu().float(), want.float(), rtol=5e-2, atol=5e-2 * float(want.abs().max()))
    # PyTorch applies moments of batches rounded to halves, which array code does.
    called = {k.entry for k in kernels_of(family) if k.entry.endswith("f4") and k.name not in ("channel_moments", "channel_norm")}
    assert called <= set(runs), called - set(runs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_windows_of_halves(dtype, runs):
    x = torch.randn(2, 3, 9, 8).to(dtype)
    assert torch.equal(F.unfold(x.to("cuda"), 3, 1, 1, 2).cpu(), F.unfold(x, 3, 1, 1, 2))
    assert runs["to_columns_f4"] == 1


@pytest.mark.parametrize("dtype", [torch.bool, torch.float16, torch.complex128])
def test_elements_of_any_size_are_moved(dtype, runs):
    x = (torch.arange(12).view(4, 3) % 3).to(dtype)
    index = torch.tensor([3, 0, 1])
    assert F.embedding(index.to("cuda"), x.to("cuda")).cpu().tolist() == x[index].tolist()
    where = torch.tensor([[2, 0, 1, 3]]).T.expand(4, 3).contiguous()
    assert x.to("cuda").gather(0, where.to("cuda")).cpu().tolist() == x.gather(0, where).tolist()
    size = {torch.bool: 1, torch.float16: 2, torch.complex128: 16}[dtype]
    assert runs[f"gather_u{size}"] == runs[f"pick_rows_u{size}"] == 1


STEPS = [(torch.optim.SGD, {"lr": 0.1}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
         (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.5, "dampening": 0.2}),
         (torch.optim.SGD, {"lr": 0.1, "maximize": True}), (torch.optim.Adam, {"lr": 0.01}), (torch.optim.Adam, {"lr": 0.01, "amsgrad": True}),
         (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}), (torch.optim.AdamW, {"lr": 0.01, "maximize": True})]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "options"), STEPS)
def test_steps_of_optimizers(kind, options, dtype, runs):
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(1)
        params = [torch.randn(shape, dtype=dtype).to(device).requires_grad_() for shape in ((700, 3), (5,), (), (0, 2))]
        optimizer = kind(params, **options)
        for _ in range(4):
            for p in params:
                p.grad = torch.randn(p.shape, dtype=dtype).to(device)
            optimizer.step()
        found.append([p.detach().cpu() for p in params] + [v.cpu() for s in optimizer.state.values() for v in s.values() if torch.is_tensor(v)])
        versions = [p._version for p in params]
        found[-1].append(versions)
    for mine, other in zip(found[1][:-1], found[0][:-1], strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5 if dtype is torch.float32 else 1e-12, atol=1e-6 if dtype is torch.float32 else 1e-14)
    assert found[0][-1] == found[1][-1]
    entry = f"{'sgd' if kind is torch.optim.SGD else 'adam'}_{'f4' if dtype is torch.float32 else 'f8'}"
    assert runs[entry] == (3 if "momentum" in options else 4)              # a momentum begins as a copy of the gradient


def test_a_step_keeps_what_backward_saved(runs):
    w = torch.ones(3, dtype=torch.float64, device="cuda", requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.5)
    y = (w * w).sum()
    w.grad = torch.ones(3, dtype=torch.float64, device="cuda")
    optimizer.step()
    w.grad = None
    y.backward()
    assert w.grad.cpu().tolist() == [2, 2, 2]
    assert w.detach().cpu().tolist() == pytest.approx([0.5] * 3)
    assert runs["adam_f8"] == 1


@pytest.mark.parametrize("key", [key for key in KEYS if key in LACKING][:1])
def test_what_the_module_lacks_is_still_refused(key, runs):
    assert {word for word, _ in differences(key, "cuda")} == {"lacks"}
