"""Throughput: large tensors, where loops over memory and arithmetic take the time."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from workloads import workload

Million = 1_000_000
Image = 32 * 64 * 28 * 28


def there_and_back(floats: int) -> list[tuple[int, int, int]]:
    """What a function of one tensor moves: x to y, then y (or x) and its gradient to the gradient of x."""
    return [(floats, 1, 1), (floats, 2, 1)]


def with_gradient(torch: ModuleType, x: object, function: Callable) -> Callable[[], object]:
    """Forward and backward of a function of one tensor that requires grad."""
    x.requires_grad_()
    g = torch.ones_like(function(x))

    def run() -> None:
        function(x).backward(g)
        x.grad = None
    return run


def pointwise(name: str, function: Callable[[ModuleType], Callable]) -> None:
    def setup(torch: ModuleType) -> Callable[[], object]:
        return with_gradient(torch, torch.randn(1000, 1000), function(torch))
    setup.__name__ = f"{name}_1m"
    workload(f"{name}, 1 million, forward and backward", 0.45,
             passes=there_and_back(Million))(setup)


pointwise("exp", lambda torch: torch.exp)
pointwise("tanh", lambda torch: torch.tanh)
pointwise("sigmoid", lambda torch: torch.sigmoid)
pointwise("gelu", lambda torch: torch.nn.functional.gelu)
pointwise("silu", lambda torch: torch.nn.functional.silu)
pointwise("softmax", lambda torch: lambda x: torch.softmax(x, 1))
pointwise("log_softmax", lambda torch: lambda x: torch.log_softmax(x, 1))


@workload("add, 10 million", 0.5, passes=[(10 * Million, 2, 1)])
def add_10m(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(10 * Million), torch.randn(10 * Million)
    return lambda: a + b


@workload("multiply, 10 million", 0.5, passes=[(10 * Million, 2, 1)])
def multiply_10m(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(10 * Million), torch.randn(10 * Million)
    return lambda: a * b


@workload("relu, 10 million", 0.5, passes=[(10 * Million, 1, 1)])
def relu_10m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(10 * Million)
    return lambda: a.relu()


@workload("copy, 10 million", 0.5, passes=[(10 * Million, 1, 1)])
def copy_10m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(10 * Million)
    return lambda: a.clone()


@workload("copy of a transpose, 10 million", 0.5, passes=[(10 * Million, 1, 1)])
def transpose_10m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(2500, 4000).t()
    return lambda: a.contiguous()


@workload("sum, 1 million", 0.6, passes=[(Million, 1, 0)])
def sum_1m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(1000, 1000)
    return lambda: a.sum()


@workload("mean over rows, (1000, 1000)", 0.6, passes=[(Million, 1, 0)])
def mean_rows(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(1000, 1000)
    return lambda: a.mean(1)


@workload("mean over columns, (1000, 1000)", 0.6, passes=[(Million, 1, 0)])
def mean_columns(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(1000, 1000)
    return lambda: a.mean(0)


@workload("var over rows, (1000, 1000)", 0.6, passes=[(Million, 1, 0)])
def var_rows(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(1000, 1000)
    return lambda: a.var(1)


@workload("cumsum over rows, (1000, 1000)", 0.6, passes=[(Million, 1, 1)])
def cumsum_rows(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(1000, 1000)
    return lambda: a.cumsum(1)


@workload("where, 1 million", 0.6, passes=[(Million, 2, 1), (Million // 4, 1, 0)])
def where_1m(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(Million), torch.randn(Million)
    mask = a > b
    return lambda: torch.where(mask, a, b)


@workload("masked_fill, 1 million", 0.6, passes=[(Million, 1, 1), (Million // 4, 1, 0)])
def masked_fill_1m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(Million)
    mask = a > 0
    return lambda: a.masked_fill(mask, 0.0)


@workload("cross entropy, (1024, 5000), forward and backward", 0.6,
          passes=[(1024 * 5000, 1, 0), (1024 * 5000, 1, 1)])
def cross_entropy(torch: ModuleType) -> Callable[[], object]:
    x, y = torch.randn(1024, 5000, requires_grad=True), torch.randint(0, 5000, (1024,))

    def run() -> None:
        torch.nn.functional.cross_entropy(x, y).backward()
        x.grad = None
    return run


@workload("layer norm, (1000, 1000), forward and backward", 0.7, passes=there_and_back(Million))
def layer_norm(torch: ModuleType) -> Callable[[], object]:
    w, b = torch.ones(1000, requires_grad=True), torch.zeros(1000, requires_grad=True)
    return with_gradient(torch, torch.randn(1000, 1000), lambda x: torch.nn.functional.layer_norm(x, (1000,), w, b))


@workload("batch norm, (32, 64, 28, 28), forward and backward", 0.7, passes=there_and_back(Image))
def batch_norm(torch: ModuleType) -> Callable[[], object]:
    w, b = torch.ones(64, requires_grad=True), torch.zeros(64, requires_grad=True)
    mean, var = torch.zeros(64), torch.ones(64)
    x = torch.randn(32, 64, 28, 28)
    return with_gradient(torch, x, lambda x: torch.nn.functional.batch_norm(x, mean, var, w, b, True))


@workload("embedding, 4096 of 10,000 rows of 128, forward and backward", 0.7,
          passes=[(4096 * 128, 1, 1), (4096 * 128, 1, 0), (10_000 * 128, 0, 1)])
def embedding(torch: ModuleType) -> Callable[[], object]:
    index = torch.randint(0, 10_000, (64, 64))
    return with_gradient(torch, torch.randn(10_000, 128), lambda w: torch.nn.functional.embedding(index, w))


# Each output comes with an index, which is twice as long
@workload("max pool 2x2, (32, 64, 28, 28), forward and backward", 0.7,
          passes=[(Image, 1, 0), (Image // 4, 0, 3), (Image // 4, 3, 0), (Image, 0, 1)])
def max_pool(torch: ModuleType) -> Callable[[], object]:
    return with_gradient(torch, torch.randn(32, 64, 28, 28), lambda x: torch.nn.functional.max_pool2d(x, 2))


@workload("causal attention, (4, 4, 256, 32), forward and backward", 0.7, flops=16 * 256 * 256 * 32 * 2 * 7 / 2)
def attention(torch: ModuleType) -> Callable[[], object]:
    q, k, v = (torch.randn(4, 4, 256, 32, requires_grad=True) for _ in range(3))
    g = torch.randn(4, 4, 256, 32)

    def run() -> None:
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)
        q.grad = k.grad = v.grad = None
    return run


def matmul_of(n: int) -> None:
    def setup(torch: ModuleType) -> Callable[[], object]:
        a, b = torch.randn(n, n), torch.randn(n, n)
        return lambda: a @ b
    setup.__name__ = f"matmul_{n}"
    workload(f"matmul, {n}", 1.0, flops=2 * n ** 3)(setup)


for size in (64, 128, 256, 512, 1024):
    matmul_of(size)


@workload("matmul, 512, bfloat16", 1.0)        # without a share of the roofline, whose peak is that of float32
def matmul_512_bfloat16(torch: ModuleType) -> Callable[[], object]:
    a, b = (torch.randn(512, 512).to(torch.bfloat16) for _ in range(2))
    return lambda: a @ b


@workload("batched matmul, 64 of 64", 1.0, flops=2 * 64 ** 4)
def batched_matmul(torch: ModuleType) -> Callable[[], object]:
    a, b = torch.randn(64, 64, 64), torch.randn(64, 64, 64)
    return lambda: a @ b


def convolution(torch: ModuleType, x: object, w: object, groups: int) -> Callable[[], object]:
    w.requires_grad_()
    once = with_gradient(torch, x, lambda x: torch.nn.functional.conv2d(x, w, padding=1, groups=groups))

    def run() -> None:
        once()
        w.grad = None
    return run


@workload("conv 3x3, (16, 32, 28, 28) to 64, forward and backward", 1.0, flops=3 * 2 * 16 * 28 * 28 * 32 * 64 * 9)
def conv(torch: ModuleType) -> Callable[[], object]:
    return convolution(torch, torch.randn(16, 32, 28, 28), torch.randn(64, 32, 3, 3), 1)


@workload("depthwise conv 3x3, (16, 32, 28, 28), forward and backward", 1.0, flops=3 * 2 * 16 * 28 * 28 * 32 * 9)
def depthwise(torch: ModuleType) -> Callable[[], object]:
    return convolution(torch, torch.randn(16, 32, 28, 28), torch.randn(32, 1, 3, 3), 32)


@workload("fft of 64 rows of 1024", 1.0, flops=64 * 5 * 1024 * 10)
def fft_rows(torch: ModuleType) -> Callable[[], object]:
    x = torch.randn(64, 1024, dtype=torch.complex64)
    return lambda: torch.fft.fft(x)


@workload("rfft of 64 rows of 1000, forward and backward", 1.0)
def rfft_rows(torch: ModuleType) -> Callable[[], object]:
    return with_gradient(torch, torch.randn(64, 1000), lambda x: torch.fft.rfft(x).abs())


@workload("rfft2 and back of (16, 3, 64, 64)", 1.0)
def rfft2_images(torch: ModuleType) -> Callable[[], object]:
    x = torch.randn(16, 3, 64, 64)
    return lambda: torch.fft.irfft2(torch.fft.rfft2(x))


@workload("fft of 2**20", 1.0, flops=5 * 2 ** 20 * 20)
def fft_1m(torch: ModuleType) -> Callable[[], object]:
    x = torch.randn(2 ** 20, dtype=torch.complex64)
    return lambda: torch.fft.fft(x)


@workload("stft of 4 signals of 16384", 1.0)
def stft(torch: ModuleType) -> Callable[[], object]:
    x, window = torch.randn(4, 16384), torch.hann_window(512)
    return lambda: torch.stft(x, 512, 128, window=window, return_complex=True)


@workload("grid_sample, (8, 16, 64, 64), forward and backward", 1.0)
def grid_sample(torch: ModuleType) -> Callable[[], object]:
    grid = (torch.rand(8, 64, 64, 2) * 2.2 - 1.1).requires_grad_()
    once = with_gradient(torch, torch.randn(8, 16, 64, 64),
                     lambda x: torch.nn.functional.grid_sample(x, grid, align_corners=False))

    def run() -> None:
        once()
        grid.grad = None
    return run


@workload("sort, 1 million", 0.7)
def sort_1m(torch: ModuleType) -> Callable[[], object]:
    a = torch.randn(Million)
    return lambda: torch.sort(a)


@workload("Adam step on 5 million parameters", 0.7, passes=[(5 * Million, 4, -3)])
def adam_5m(torch: ModuleType) -> Callable[[], object]:
    parameters = [torch.nn.Parameter(torch.randn(1000, 1000)) for _ in range(5)]
    for p in parameters:
        p.grad = torch.randn(1000, 1000)
    return torch.optim.Adam(parameters).step
