"""Random numbers against PyTorch: bit for bit the same streams, and the same engines left behind.

The tests of tests/ops/test_random*.py run once more with PyTorch as the library: they hold for it, or they are wrong.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from types import ModuleType

import pytest

import claygrad
from claygrad.core import array_of
from tests.support import lend

torch = pytest.importorskip("torch")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
SIZES = [1, 2, 3, 15, 16, 17, 31, 33, 311, 312, 313, 623, 624, 625, 2047, 2048, 2049, 5000]


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    yield from lend(torch)


for _module in ("test_random", "test_random_forms", "test_random_refusals"):
    _tests = vars(importlib.import_module(f"tests.ops.{_module}"))
    globals().update({name: test for name, test in _tests.items() if name.startswith("test_")})


def bits(tensor) -> bytes:
    """The elements of a tensor of either library, byte by byte."""
    if isinstance(tensor, torch.Tensor):
        dense = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
        return dense.view(-1).view(torch.uint8).numpy().tobytes()
    return array_of(tensor).tobytes()


def same_stream(program: str, seed: int = 0) -> None:
    """The program gives both libraries the same bits and leaves both generators in the same state."""
    made = {}
    for lib in (torch, claygrad):
        lib.manual_seed(seed)
        found = eval(program, {"t": lib})
        found = found if isinstance(found, list | tuple) else [found]
        made[lib] = [(list(x.shape), list(x.stride()), str(x.dtype).rpartition(".")[2], bits(x)) for x in found]
    assert made[claygrad] == made[torch], program
    assert bits(claygrad.get_rng_state()) == bits(torch.get_rng_state()), program


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "fill",
    [
        "uniform_()",
        "uniform_(-3.7, 2.13)",
        "uniform_(0.1, 0.1000001)",
        "uniform_(5, 5)",
        "normal_()",
        "normal_(1.3, 2.7)",
        "normal_(-5, 0.01)",
        "normal_(0, 0)",
        "log_normal_()",
        "log_normal_(-1.2, 0.3)",
        "exponential_()",
        "exponential_(0.3)",
        "cauchy_()",
        "cauchy_(1.7, 0.4)",
        "geometric_(0.3)",
        "bernoulli_(0.3)",
        "random_()",
    ],
)
def test_fills_of_floats(dtype, fill):
    for n in SIZES:
        same_stream(f"t.empty({n}, dtype=t.{dtype}).{fill}", seed=n)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_fills_of_integers(dtype):
    for n in SIZES:
        empty = f"t.empty({n}, dtype=t.{dtype})"
        fills = ["bernoulli_(0.3)", "bernoulli_(0)", "bernoulli_(1)", "random_()", "random_(0, None)", "random_(0, 2)"]
        if dtype != "bool":
            fills += [
                "geometric_(0.5)",
                "geometric_(1e-5)",
                "geometric_(1e-12)",
                "random_(100)",
                "random_(3, 120)",
                "random_(1)",
            ]
        for fill in fills:
            same_stream(f"{empty}.{fill}", seed=n)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize(
    "bounds",
    ["2**20", "2**28 - 1", "2**28", "2**28 + 1", "2**31 - 1", "-2**31, 2**31 - 1", "-7, 2**28 - 7", "-7, 2**28 - 8"],
)
def test_ranges_up_to_32_bits(dtype, bounds):
    for n in (1, 7, 1000, 5000):
        same_stream(f"t.randint({bounds}, ({n},), dtype=t.{dtype})", seed=n)


@pytest.mark.parametrize(
    "bounds", ["2**32", "2**33 + 7", "-2**62, 2**62", "2**63 - 1", "-2**63, 2**63 - 1", "2**40 + 12345"]
)
def test_ranges_beyond_32_bits(bounds):
    for n in (1, 7, 1000, 5000):
        same_stream(f"t.randint({bounds}, ({n},))", seed=n)
        same_stream(f"t.empty({n}, dtype=t.int64).random_(-2**63, None)", seed=n)


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        ("float32", "2**24"),
        ("float32", "2**30 + 77, 2**40 + 5"),
        ("float32", "-2**25 - 3, None"),
        ("float32", "-2**63, None"),
        ("float64", "2**54 + 1, 2**54 + 10"),
        ("float64", "0, None"),
        ("float64", "-2**63, None"),
        ("float16", "65504"),
        ("float16", "-65504, 65504"),
        ("float16", "2049, 4001"),
        ("float16", "0, None"),
        ("bfloat16", "1000003"),
        ("bfloat16", "-70001, 70001"),
        ("bfloat16", "-2**63, None"),
        ("bfloat16", "0, None"),
        ("bfloat16", "2**40 + 1"),
    ],
)
def test_ranges_with_gaps(dtype, bounds):
    for n in (1, 40, 3000):
        same_stream(f"t.empty({n}, dtype=t.{dtype}).random_({bounds})", seed=n)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_permutations(dtype):
    for n in (0, 1, 2, 3, 17, 100, 127):
        same_stream(f"t.randperm({n}, dtype=t.{dtype})", seed=n)
    if dtype in ("int32", "int64", "float32", "float64"):
        for n in (625, 40_000, 70_000):
            same_stream(f"t.randperm({n}, dtype=t.{dtype})", seed=n)


@pytest.mark.slow
@pytest.mark.timeout(1200)      # torch alone may take two minutes
def test_a_permutation_too_long_for_32_bit_draws():
    same_state = []
    for lib in (torch, claygrad):
        lib.manual_seed(1)
        made = lib.randperm(214748364, dtype=lib.int32)
        same_state.append((made[:1000].tolist(), made[-1000:].tolist(), bits(lib.get_rng_state())))
        del made
    assert same_state[0] == same_state[1]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_draws(dtype):
    for n in (1, 2, 7, 8, 9, 100, 700):
        for program in (
            f"t.randn({n}, dtype=t.{dtype})",
            f"t.rand({n}, dtype=t.{dtype})",
            f"t.empty({n}, dtype=t.{dtype}).normal_(1.5, 2.5)",
            f"t.empty({n}, 3, dtype=t.{dtype}).t().normal_()",
        ):
            same_stream(program, seed=n)


@pytest.mark.parametrize("p", [*FLOATS])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool", "uint8"])
def test_bernoulli_with_probabilities_of_their_own(p, dtype):
    for n in (1, 7, 700):
        chances = f"t.rand(3, {n}).to(t.{p})"
        same_stream(f"t.empty(3, {n}, dtype=t.{dtype}).bernoulli_({chances})", seed=n)
        same_stream(
            f"t.empty(2, 3, {n}, dtype=t.{dtype}).transpose(0, 2).bernoulli_({chances}.t()[:, :, None])", seed=n
        )
        same_stream(f"t.bernoulli({chances}.t())", seed=n)


def shuffled_program(rng: random.Random) -> str:
    """An empty tensor of some strides: permuted, cut, stepped, with axes of one element."""
    sizes = [rng.choice([1, 1, 2, 3, 4, 9]) for _ in range(rng.randint(1, 4))]
    whole = [n * rng.choice([1, 1, 2]) + rng.choice([0, 0, 1]) for n in sizes]
    cut = ", ".join(f":{n}" if rng.random() < 0.5 else f"{m - n}:" for n, m in zip(sizes, whole, strict=True))
    order = rng.sample(range(len(sizes)), len(sizes))
    program = f"t.zeros({whole}, dtype=t.{rng.choice(FLOATS)})[{cut}].permute({order})"
    return program + (f".unsqueeze({rng.randint(0, len(sizes))})" if rng.random() < 0.3 else "")


def test_tensors_of_any_strides_are_filled_in_the_same_order():
    rng = random.Random(1)
    fills = [
        "uniform_()",
        "normal_()",
        "normal_(2, 3)",
        "exponential_()",
        "bernoulli_(0.5)",
        "random_(100)",
        "cauchy_()",
    ]
    for seed in range(300):
        same_stream(f"{shuffled_program(rng)}.{rng.choice(fills)}", seed)


def test_like_functions_of_any_strides():
    rng = random.Random(2)
    for seed in range(200):
        name = rng.choice(["rand_like({})", "randn_like({})", "randint_like({}, 50)", "randint_like({}, 5, 50)"])
        same_stream("t." + name.format(shuffled_program(rng)), seed)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(dtype, replacement):
    for seed, (rows, n) in enumerate([(1, 1), (1, 2), (3, 5), (2, 10), (4, 100), (2, 1000), (1, 3000)]):
        for count in {1, 2, 3, n // 64, n // 2, n}:
            if 0 < count <= n or (replacement and count):
                weights = f"t.rand({rows}, {n}).to(t.{dtype})"
                same_stream(f"t.multinomial({weights}, {count}, {replacement})", seed)
                even = f"(t.rand({rows}, {n}) > 0.7).to(t.{dtype}) + 0.001"
                same_stream(f"t.multinomial({even}, {count}, {replacement})", seed)
                same_stream(f"t.multinomial(t.rand({n}, {rows}).to(t.{dtype}).t(), {count}, {replacement})", seed)
                same_stream(f"t.multinomial({weights}[0], {count}, {replacement})", seed)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_normal_of_tensors(dtype):
    for n in (1, 5, 16, 33):
        mean, std = f"t.rand({n}).to(t.{dtype})", f"t.rand({n}).to(t.{'float32' if dtype == 'complex64' else dtype})"
        for program in (
            f"t.normal({mean}, {std})",
            f"t.normal({mean}, 2.5)",
            f"t.normal({mean})",
            f"t.normal({mean}[:, None], {std})",
            f"t.normal({mean}.expand(3, {n}).t(), 0.5)",
        ):
            same_stream(program, seed=n)
        if dtype != "complex64":
            same_stream(f"t.normal(1.5, {std})", seed=n)
            same_stream(f"t.normal(1.5, 2.5, ({n}, 2), dtype=t.{dtype})", seed=n)


def test_dropout_masks():
    for program in (
        "t.nn.functional.dropout(t.ones(1000), 0.3)",
        "t.nn.functional.dropout(t.ones(30, 40).t(), 0.9)",
        "t.nn.functional.dropout(t.ones(77, dtype=t.float64), 0.5)",
        "t.nn.functional.dropout1d(t.ones(9, 4, 2), 0.5)",
        "t.nn.functional.dropout2d(t.ones(5, 4, 2, 2), 0.4)",
        "t.nn.functional.dropout3d(t.ones(6, 1, 2, 2), 0.5)",
        "t.nn.functional.alpha_dropout(t.ones(40, 3).t(), 0.3, True)",
        "t.nn.functional.feature_alpha_dropout(t.ones(9, 4, 2), 0.3, True)",
        "t.native_dropout(t.ones(9, 4), 0.3, True)[1]",
        "t.nn.functional.scaled_dot_product_attention(*[t.ones(2, 3, 4, 5)] * 3, dropout_p=0.4)",
        "t.nn.functional.rrelu(-t.ones(50), training=True)",
        "t.nn.functional.gumbel_softmax(t.ones(5, 4), hard=True)",
    ):
        same_stream(program)


CALLS = [
    "t.rand({n})",
    "t.randn({n})",
    "t.rand({n}, dtype=t.float64)",
    "t.randn({n}, dtype=t.float64)",
    "t.randint(10, ({n},))",
    "t.randint(2**40, ({n},))",
    "t.randperm({n})",
    "t.randn({n}, dtype=t.bfloat16)",
    "t.empty({n}).exponential_()",
    "t.empty({n}).bernoulli_(0.2)",
    "t.empty(2, {n}).t().normal_()",
    "t.multinomial(t.ones({n}), 1)",
    "t.multinomial(t.ones({n}), 4, True)",
    "t.normal(t.zeros({n}), 1.0)",
    "t.empty({n}).log_normal_()",
    "t.empty({n}, dtype=t.int64).random_()",
    "t.bernoulli(t.full(({n},), 0.5))",
    "t.randn({n}, dtype=t.complex64)",
    "t.empty({n}).geometric_(0.1)",
    "t.randint(5, ({n},), dtype=t.uint8)",
    "t.rand({n}, dtype=t.float16)",
]


def test_mixed_sequences_of_calls():
    rng = random.Random(3)
    for seed in range(60):
        calls = [rng.choice(CALLS).format(n=rng.choice([1, 2, 3, 7, 16, 20, 100, 700])) for _ in range(12)]
        same_stream(f"[{', '.join(calls)}]", seed * 7919)


def test_states_are_exchanged_between_the_libraries():
    torch.manual_seed(5)
    torch.randn(3)
    claygrad.set_rng_state(claygrad.tensor(torch.get_rng_state().tolist(), dtype=claygrad.uint8))
    assert claygrad.randn(700).tolist() == torch.randn(700).tolist()
    claygrad.rand(5)
    torch.set_rng_state(torch.tensor(claygrad.get_rng_state().tolist(), dtype=torch.uint8))
    assert claygrad.randn(7).tolist() == torch.randn(7).tolist()


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31, 2**32, 2**40 + 3, 2**64 - 1, -(2**63), 67280421310721])
def test_seeds_of_every_size(seed):
    same_stream("[t.rand(5), t.randn(5), t.rand(1300)]", seed)
