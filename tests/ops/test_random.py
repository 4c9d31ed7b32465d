"""Random numbers: PyTorch's CPU streams, known by heart, and the rules around them.

The programs of the tables are texts, so that a failing one names its test. After each the generator must stand where
PyTorch's stands: the number at the end of a row is the next `randint(2**20, ())`.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support import close, exact, lend, raises


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


def run(lib: ModuleType, program: str) -> object:
    return eval(program, {"t": lib})


def digest(tensor) -> str:
    return hashlib.sha256(repr(tensor.tolist()).encode()).hexdigest()[:16]


def next_draw(lib: ModuleType) -> int:
    return lib.randint(2**20, ()).item()


# --- streams after manual_seed(0) ------------------------------------------------------------------------------------

EXACT = [
    (
        "t.rand(5)",
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688, 0.30742281675338745],
        152315,
    ),
    ("t.rand(2, dtype=t.float64)", [0.9700530018065531, 0.707819864399788], 963395),
    ("t.rand(3, dtype=t.float16)", [0.496337890625, 0.76806640625, 0.0885009765625], 117952),
    ("t.rand(3, dtype=t.bfloat16)", [0.49609375, 0.76953125, 0.08837890625], 117952),
    (
        "t.rand(2, dtype=t.complex64)",
        [(0.49625658988952637 + 0.7682217955589294j), (0.08847743272781372 + 0.13203048706054688j)],
        963395,
    ),
    ("t.empty(3).uniform_(-3, 2)", [-0.5187170505523682, 0.8411089777946472, -2.557612895965576], 117952),
    ("t.randint(10, (5,))", [4, 9, 3, 0, 3], 152315),
    ("t.randint(-5, 5, (5,), dtype=t.int8)", [-1, 4, -2, -5, -2], 152315),
    ("t.randint(2**28 - 1, (2,))", [209652404, 130329144], 435829),
    ("t.randint(2**28, (2,))", [130329135, 136432832], 963395),
    ("t.randint(-2**62, 2**62, (2,))", [-3711235831533098449, -642142871786238784], 963395),
    ("t.randint(100, (3,), dtype=t.float32)", [44.0, 39.0, 33.0], 117952),
    ("t.randperm(8)", [4, 0, 7, 3, 2, 5, 1, 6], 359783),
    ("t.randperm(4, dtype=t.float16)", [0.0, 1.0, 3.0, 2.0], 117952),
    ("t.empty(2, dtype=t.int64).random_()", [900450186894289455, 3969543146641149120], 963395),
    ("t.empty(4, dtype=t.uint8).random_()", [172, 47, 117, 192], 963395),
    ("t.empty(6, dtype=t.bool).random_()", [False, True, True, False, True, True], 882371),
    ("t.empty(2).random_()", [8325664.0, 12888472.0], 435829),
    ("t.empty(2, dtype=t.float64).random_()", [8737460674930124.0, 6375474555111176.0], 963395),
    ("t.empty(3, dtype=t.int16).random_(5, None)", [2014, 6173, 19873], 117952),
    ("t.empty(2, dtype=t.int64).random_(-2**63, None)", [-8322921849960486353, -5253828890213626688], 963395),
    ("t.empty(8).bernoulli_(0.3)", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0], 170584),
    ("t.empty(8).bernoulli_(t.full((8,), 0.3))", [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 304137),
    ("t.empty(8).bernoulli_(t.full((8,), 0.3, dtype=t.float64))", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0], 170584),
    ("t.bernoulli(t.full((2, 3), 0.5))", [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], 882371),
    ("t.empty(5, dtype=t.int64).geometric_(0.2)", [1, 2, 4, 1, 2], 610581),
    ("t.multinomial(t.tensor([0.1, 0.2, 0.3, 0.4]), 6, True)", [3, 3, 2, 3, 3, 3], 374564),
    ("t.multinomial(t.tensor([[0.1, 0.2, 0.3, 0.4], [4.0, 3.0, 2.0, 1.0]]), 3)", [[2, 1, 3], [2, 0, 3]], 170584),
    ("t.multinomial(t.tensor([[0.1, 0.2, 0.3, 0.4], [4.0, 3.0, 2.0, 1.0]]), 1, True)", [[2], [2]], 170584),
]


@pytest.mark.parametrize(("program", "wanted", "after"), EXACT, ids=[row[0] for row in EXACT])
def test_small_streams_are_pytorchs_to_the_bit(lib, program, wanted, after):
    assert exact(run(lib, program), wanted)
    assert next_draw(lib) == after


# These pass through the C library's logarithms and sines, which differ by a rounding between systems.
ROUNDED = [
    ("t.randn(3)", [1.5409960746765137, -0.293428897857666, -2.1787893772125244], 304137),
    ("t.randn(3, dtype=t.float64)", [1.5409961082440433, -0.2934289057609464, -2.1787893820745574], 304137),
    (
        "t.randn(2, dtype=t.complex64)",
        [(1.0896488428115845 - 0.20748557150363922j), (-1.5406367778778076 + 0.40194159746170044j)],
        304137,
    ),
    ("t.empty(3).normal_(2, 0.5)", [2.770498037338257, 1.853285551071167, 0.9106053113937378], 304137),
    ("t.empty(3, dtype=t.float64).log_normal_()", [59.26341788010752, 1.5115599370617072, 0.03481946309690494], 304137),
    (
        "t.empty(3, dtype=t.float64).exponential_(2.0)",
        [1.754163093353821, 0.6151923820898384, 0.30752204694700574],
        882371,
    ),
    (
        "t.empty(3, dtype=t.float64).cauchy_(1.0, 2.0)",
        [22.195458653364593, 2.5295345192117997, 0.7434013158336519],
        882371,
    ),
    ("t.normal(t.tensor([1.0, 2.0]), t.tensor([0.5, 3.0]))", [1.7704980373382568, 1.119713306427002], 963395),
    ("t.normal(1.0, t.tensor([0.5, 3.0]))", [1.7704980373382568, 0.11971330642700195], 963395),
    ("t.normal(t.tensor([1.0, 2.0]), 0.5)", [1.7704980373382568, 1.853285551071167], 963395),
    ("t.normal(1.0, 0.5, (2,))", [1.7704980373382568, 0.853285551071167], 963395),
    ("t.randn(17, dtype=t.float64)[-3:]", [-0.4484158047114511, -0.8910030351707375, 0.6748575435940039], 320290),
]


@pytest.mark.parametrize(("program", "wanted", "after"), ROUNDED, ids=[row[0] for row in ROUNDED])
def test_small_normal_streams_are_pytorchs(lib, program, wanted, after):
    made = run(lib, program)
    assert close(made, wanted, rtol=1e-14 if made.dtype is lib.float64 else 2e-7, atol=0)
    assert next_draw(lib) == after


# Long streams, by the digest of their printed values. Normal ones of 16 and more single-precision elements are made of
# multiplications, additions and square roots alone: the same on every machine.
LONG = [
    ("t.rand(1000)", "a926ada8eccad4ad", 335399),
    ("t.rand(700, dtype=t.float64)", "773e11dbe47eb49e", 726201),
    ("t.randn(16)", "147e47ebef1e7d78", 170584),
    ("t.randn(17)", "3e4d8049151268f5", 332752),
    ("t.randn(31)", "7938f43d564c3fd4", 724115),
    ("t.randn(1000)", "cc0942d5425ff82f", 964451),
    ("t.randn(1007)", "162df7ba99407354", 562022),
    ("t.randn(20, dtype=t.float16)", "764c4decae7858e6", 854131),
    ("t.randn(33, dtype=t.bfloat16)", "624358b986fa2d4a", 473998),
    ("t.randn(40, 25)", "5e6030a5a376165c", 964451),
    ("t.randn(9, dtype=t.complex64)", "ca7765d0a08c7c2e", 430835),
    ("t.empty(50).normal_(-3, 7)", "e8c0e18349cc32ed", 320290),
    ("t.randint(1000, (1000,))", "bfb1379437ac3577", 335399),
    ("t.randint(2**40, (400,))", "f2bd4177ec37973b", 586049),
    ("t.randperm(1000)", "fcd28e94a427733a", 484248),
    ("t.empty(1000).bernoulli_(0.5)", "65794fa83343b582", 458833),
    ("t.empty(700, dtype=t.int32).random_()", "79a0b180cc3c1ae6", 268129),
]


@pytest.mark.parametrize(("program", "wanted", "after"), LONG, ids=[row[0] for row in LONG])
def test_long_streams_are_pytorchs_to_the_bit(lib, program, wanted, after):
    assert digest(run(lib, program)) == wanted
    assert next_draw(lib) == after


def test_a_second_normal_value_waits_in_the_generator(lib):
    lib.manual_seed(0)
    pairs = lib.randn(4)
    lib.manual_seed(0)
    first = lib.randn(1)
    state = lib.get_rng_state()
    rest = lib.randn(3)
    assert lib.equal(lib.cat([first, rest]), pairs)
    lib.set_rng_state(state)
    assert lib.equal(lib.randn(3), rest)


def test_a_uniform_draw_between_does_not_take_the_waiting_value(lib):
    lib.randn(1)
    state = lib.get_rng_state()
    waiting = lib.randn(1)
    lib.set_rng_state(state)
    lib.rand(3)
    assert lib.equal(lib.randn(1), waiting)


def test_manual_seed_drops_the_waiting_value(lib):
    lib.manual_seed(0)
    first = lib.randn(1)
    lib.manual_seed(0)
    assert lib.equal(lib.randn(1), first)


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_fill_goes_through_memory_and_not_through_the_axes(lib):
    lib.manual_seed(1)
    straight = lib.rand(6)
    lib.manual_seed(1)
    turned = lib.empty(2, 3).t().uniform_()
    assert lib.equal(turned.t().reshape(-1), straight)
    assert turned.stride() == (1, 3)


def test_a_fill_with_gaps_leaves_the_gaps_alone(lib):
    lib.manual_seed(1)
    straight = lib.rand(6)
    lib.manual_seed(1)
    whole = lib.zeros(3, 4)
    whole[:, ::2].uniform_()
    assert lib.equal(whole[:, ::2].reshape(-1), straight)
    assert (whole[:, 1::2] == 0).all()


def test_normal_fills_that_are_not_contiguous_draw_one_by_one(lib):
    lib.manual_seed(1)
    one_by_one = lib.cat([lib.randn(8) for _ in range(4)])
    lib.manual_seed(1)
    turned = lib.empty(8, 4).t().normal_()
    assert lib.equal(turned.t().reshape(-1), one_by_one)


def test_like_functions_keep_the_order_in_memory(lib):
    source = lib.zeros(3, 2).t()
    lib.manual_seed(1)
    straight = lib.rand(6)
    lib.manual_seed(1)
    made = lib.rand_like(source)
    assert made.stride() == (1, 2)
    assert lib.equal(made.t().reshape(-1), straight)
    made = lib.rand_like(source, memory_format=lib.contiguous_format)
    assert made.stride() == (3, 1)


def test_bernoulli_takes_its_probabilities_in_the_order_of_the_target(lib):
    p = lib.tensor([0.0, 1.0, 0.5])
    made = lib.empty(2, 3).bernoulli_(p)
    assert exact(made[:, :2], [[0.0, 1.0], [0.0, 1.0]])
    made = lib.empty(3, 2).t().bernoulli_(p)
    assert exact(made[:, :2], [[0.0, 1.0], [0.0, 1.0]])


def test_complex_normal_shares_the_variance(lib):
    lib.manual_seed(3)
    halves = lib.randn(40) * 2**-0.5
    lib.manual_seed(3)
    made = lib.view_as_real(lib.randn(20, dtype=lib.complex64)).reshape(-1)
    assert close(made, halves.tolist())


def test_dropout_masks_are_bernoulli_draws(lib):
    lib.manual_seed(5)
    mask = lib.empty(50).bernoulli_(0.7)
    lib.manual_seed(5)
    kept = lib.nn.functional.dropout(lib.ones(50), 0.3)
    assert close(kept, (mask / 0.7).tolist())


# --- generators ------------------------------------------------------------------------------------------------------


def test_a_generator_has_a_stream_of_its_own(lib):
    one, two = lib.Generator().manual_seed(7), lib.Generator().manual_seed(7)
    before = lib.get_rng_state()
    a = lib.rand(3, generator=one)
    lib.randn(5, generator=one)
    assert lib.equal(lib.rand(3, generator=two), a)
    assert lib.equal(lib.get_rng_state(), before)
    lib.manual_seed(7)
    assert lib.equal(lib.rand(3), a)


@pytest.mark.parametrize(
    "program",
    [
        "t.rand(2, generator=g)",
        "t.randn(2, generator=g)",
        "t.randint(9, (2,), generator=g)",
        "t.randperm(5, generator=g)",
        "t.normal(0.0, 1.0, (2,), generator=g)",
        "t.normal(t.zeros(2), generator=g)",
        "t.bernoulli(t.full((9,), 0.5), generator=g)",
        "t.multinomial(t.ones(9), 3, generator=g)",
        "t.multinomial(t.ones(9), 3, True, generator=g)",
        "t.rand_like(t.ones(2), generator=g)",
        "t.empty(2).uniform_(generator=g)",
        "t.empty(2).random_(generator=g)",
        "t.empty(2).geometric_(0.5, generator=g)",
        "t.empty(9).bernoulli_(generator=g)",
        "t.empty(2).cauchy_(generator=g)",
    ],
)
def test_every_function_draws_from_the_generator_it_is_given(lib, program):
    lib.manual_seed(11)
    wanted = eval(program, {"t": lib, "g": None})
    before = lib.get_rng_state()
    made = eval(program, {"t": lib, "g": lib.Generator().manual_seed(11)})
    assert lib.equal(made, wanted)
    assert lib.equal(lib.get_rng_state(), before)


def test_a_new_generator_starts_at_the_default_seed(lib):
    generator = lib.Generator()
    assert generator.initial_seed() == 67280421310721
    assert generator.device == lib.device("cpu")
    assert lib.Generator("cpu").manual_seed(5).initial_seed() == 5


def test_seeds_wrap_and_overflow(lib):
    generator = lib.Generator()
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    assert generator.manual_seed(-(2**63)).initial_seed() == 2**63
    for seed in (2**64, -(2**63) - 1):
        with raises(lib, ValueError, "Overflow when unpacking long long"):
            generator.manual_seed(seed)
    with raises(lib, RuntimeError, "manual_seed expected a long, but got float"):
        generator.manual_seed(1.5)
    with raises(lib, RuntimeError, "manual_seed expected a long, but got bool"):
        generator.manual_seed(True)


def test_the_low_32_bits_of_a_seed_decide(lib):
    lib.manual_seed(2**40 + 3)
    long = lib.rand(3)
    lib.manual_seed(3)
    assert lib.equal(lib.rand(3), long)


def test_manual_seed_returns_the_default_generator(lib):
    assert lib.manual_seed(3) is lib.default_generator
    assert lib.initial_seed() == 3
    assert lib.manual_seed(1.7).initial_seed() == 1
    assert lib.manual_seed(lib.tensor(5)).initial_seed() == 5


def test_seed_gives_another_stream_every_time(lib):
    first = lib.seed()
    assert first == lib.initial_seed()
    assert lib.seed() != first
    assert 0 <= first < 2**64


def test_states_are_bytes_that_can_be_set_again(lib):
    state = lib.get_rng_state()
    assert state.dtype is lib.uint8
    assert tuple(state.shape) == (5056,)
    drawn = lib.randn(3), lib.rand(700)
    lib.set_rng_state(state)
    assert lib.equal(lib.randn(3), drawn[0])
    assert lib.equal(lib.rand(700), drawn[1])


def test_states_have_pytorchs_layout(lib):
    lib.manual_seed(0)
    lib.rand(3)
    lib.randn(1)
    state = bytes(lib.get_rng_state().tolist())
    assert hashlib.sha256(state[:5016]).hexdigest()[:16] == "9417665c080143c9"
    assert state[5040:5044] == b"\x01\0\0\0"


def test_bad_states_are_refused(lib):
    generator = lib.Generator()
    with raises(lib, RuntimeError, "Invalid mt19937 state"):
        generator.set_state(lib.zeros(5056, dtype=lib.uint8))
    with raises(
        lib, RuntimeError, "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 5"
    ):
        generator.set_state(lib.zeros(5, dtype=lib.uint8))
    with raises(lib, TypeError, "RNG state must be a torch.ByteTensor"):
        generator.set_state(lib.zeros(5056))
    with raises(lib, TypeError, "expected a torch.ByteTensor, but got list"):
        generator.set_state([1])
    assert generator.initial_seed() == 67280421310721


def test_generators_are_copied_with_their_state(lib):
    generator = lib.Generator().manual_seed(4)
    lib.randn(3, generator=generator)
    twins = [
        copy.copy(generator),
        copy.deepcopy(generator),
        pickle.loads(pickle.dumps(generator)),
        generator.clone_state(),
    ]
    wanted = lib.randn(3, generator=generator)
    for twin in twins:
        assert twin.initial_seed() == 4
        assert lib.equal(lib.randn(3, generator=twin), wanted)


def test_generators_have_no_offset_and_live_on_the_cpu(lib):
    with raises(lib, RuntimeError, "CPU Generator does not use offset"):
        lib.Generator().get_offset()
    with raises(lib, RuntimeError, "META device type not an accelerator."):
        lib.Generator("meta")
    with raises(lib, RuntimeError, "Cannot get CUDA generator without ATen_cuda library.…"):
        lib.Generator(device="cuda")


def test_fork_rng_leaves_no_trace(lib):
    before = lib.get_rng_state()
    with lib.random.fork_rng():
        lib.manual_seed(9)
        lib.randn(3)
    assert lib.equal(lib.get_rng_state(), before)
    with lib.random.fork_rng(enabled=False):
        lib.rand(3)
    assert not lib.equal(lib.get_rng_state(), before)


def test_fork_rng_restores_after_an_exception_and_decorates(lib):
    before = lib.get_rng_state()
    with pytest.raises(ZeroDivisionError), lib.random.fork_rng(devices=[]):
        lib.rand(3)
        1 / 0
    assert lib.equal(lib.get_rng_state(), before)

    @lib.random.fork_rng()
    def draw():
        return lib.rand(2)

    assert lib.equal(draw(), draw())
    assert lib.equal(lib.get_rng_state(), before)
