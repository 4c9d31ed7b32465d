"""Random functions: what they refuse, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan
from types import ModuleType

import pytest

from tests.support import lend, raises, warns
from tests.support.messages import OVERLAP1


@pytest.fixture
def lib() -> Iterator[ModuleType]:
    import claygrad

    yield from lend(claygrad)


REFUSED = [
    ("t.rand(2, dtype=t.int64)", NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
    ("t.randn(2, dtype=t.bool)", NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Bool'"),
    ("t.rand()", TypeError, "rand() received an invalid combination of arguments - got (), but expected one of:…"),
    ("t.rand(2.5)", TypeError, "rand(): argument 'size' (position 1) must be tuple of ints, not float"),
    ("t.rand('a')", TypeError, "rand(): argument 'size' (position 1) must be tuple of ints, not str"),
    (
        "t.rand((2.0,))",
        TypeError,
        "rand(): argument 'size' (position 1) must be tuple of ints, but found element of type float at pos 0",
    ),
    ("t.rand(2, foo=5)", TypeError, "rand() received an invalid combination of arguments - got (int, foo=int), but …"),
    (
        "t.rand(2, generator=5)",
        TypeError,
        "rand() received an invalid combination of arguments - got (int, generator=int)…",
    ),
    ("t.rand(-1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (
        "t.rand(2, pin_memory=True)",
        RuntimeError,
        (
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is "
            "available on this system."
        ),
    ),
    ("t.randperm(-1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    ("t.randperm(3.5)", TypeError, "randperm(): argument 'n' (position 1) must be int, not float"),
    ("t.randperm(300, dtype=t.uint8)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("t.randperm(3000, dtype=t.float16)", RuntimeError, "n cannot be greater than 2049 for Half type."),
    ("t.randperm(3, dtype=t.bool)", NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
    ("t.randint(0, (3,))", RuntimeError, "random_ expects 'from' to be less than 'to', but got from=0 >= to=0"),
    ("t.randint(5, 5, (3,))", RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    ("t.randint(2**63, (3,))", ValueError, "Overflow when unpacking long long"),
    ("t.randint(300, (3,), dtype=t.uint8)", RuntimeError, "to - 1 is out of bounds for unsigned char"),
    ("t.randint(-1, 5, (3,), dtype=t.uint8)", RuntimeError, "from is out of bounds for unsigned char"),
    ("t.randint(3, (3,), dtype=t.bool)", RuntimeError, "to - 1 is out of bounds for bool"),
    ("t.randint(70000, (3,), dtype=t.float16)", RuntimeError, "to - 1 is out of bounds for c10::Half"),
    ("t.randint(10, 3)", TypeError, "randint(): argument 'size' (position 2) must be tuple of ints, not int"),
    ("t.randint(5.0, (3,))", TypeError, "randint(): argument 'high' (position 1) must be int, not float"),
    ("t.randint(10)", TypeError, "randint() received an invalid combination of arguments - got (int), but expected …"),
    (
        "t.empty(3).random_(5.5)",
        TypeError,
        "random_() received an invalid combination of arguments - got (float), but …",
    ),
    ("t.empty(3).random_(-1)", RuntimeError, "random_ expects 'from' to be less than 'to', but got from=0 >= to=-1"),
    (
        "t.empty(3, dtype=t.int32).random_(-2**63, None)",
        RuntimeError,
        "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16",
    ),
    (
        "t.empty(3).random_(2**24, None)",
        RuntimeError,
        (
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
            "got from=16777216 > to_inc=16777216"
        ),
    ),
    (
        "t.empty(3, dtype=t.complex64).random_(5)",
        RuntimeError,
        "check_random_bounds handles only integral, floating-point and boolean types",
    ),
    (
        "t.empty(3).uniform_(2, 1)",
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
    ),
    ("t.empty(3).uniform_(0, inf)", RuntimeError, "to is out of bounds for float"),
    (
        "t.empty(3).uniform_(-3e38, 3e38)",
        RuntimeError,
        (
            "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 "
            "which result in to-from to exceed the limit"
        ),
    ),
    ("t.empty(3).uniform_('a')", TypeError, "uniform_(): argument 'from' (position 1) must be float, not str"),
    ("t.empty(3).uniform_(0, 1, 2)", TypeError, "uniform_() takes from 0 to 2 positional arguments but 3 were given"),
    ("t.empty(3).uniform_(from_=0)", TypeError, "uniform_() got an unexpected keyword argument 'from_'"),
    ("t.empty(3).normal_(0, -1)", RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ("t.empty(3).normal_(0, nan)", RuntimeError, "normal expects std >= 0.0, but found std nan"),
    ("t.empty(3).normal_(generator=5)", TypeError, "normal_(): argument 'generator' must be torch.Generator, not int"),
    ("t.empty(3).normal_(mean='a')", TypeError, "normal_(): argument 'mean' must be float, not str"),
    ("t.empty(3).exponential_(0)", RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (
        "t.empty(3, dtype=t.int32).exponential_()",
        RuntimeError,
        (
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point "
            "but you specified Int"
        ),
    ),
    ("t.empty(3).cauchy_(0, 0)", RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (
        "t.empty(3, dtype=t.int32).cauchy_()",
        RuntimeError,
        (
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
            "you specified int"
        ),
    ),
    ("t.empty(3).log_normal_(1, 0)", RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    ("t.empty(3).geometric_(1)", RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    ("t.empty(3).geometric_()", TypeError, 'geometric_() missing 1 required positional arguments: "p"'),
    ("t.empty(3, dtype=t.bool).geometric_(0.5)", NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'"),
    ("t.empty(3).bernoulli_(1.5)", RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (
        "t.empty(3).bernoulli_(t.ones(2))",
        RuntimeError,
        (
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  "
            "Target sizes: [3].  Tensor sizes: [2]"
        ),
    ),
    (
        "t.empty(3).bernoulli_(t.tensor([1, 0, 1]))",
        NotImplementedError,
        "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
    ),
    ("t.bernoulli(t.tensor([0.5, 2.0]))", RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.…"),
    ("t.bernoulli([0.5])", TypeError, "bernoulli(): argument 'input' (position 1) must be Tensor, not list"),
    (
        "t.normal(0.0, 1.0)",
        TypeError,
        "normal() received an invalid combination of arguments - got (float, float), but …",
    ),
    (
        "t.normal(t.zeros(2), t.ones(3))",
        RuntimeError,
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    ("t.normal(t.zeros(2), -t.ones(2))", RuntimeError, "normal expects all elements of std >= 0.0"),
    (
        "t.normal(t.zeros(2), t.ones(2, dtype=t.complex64))",
        RuntimeError,
        "normal expects standard deviation to be non-complex",
    ),
    (
        "t.normal(t.zeros(2, dtype=t.int64), 1.0)",
        NotImplementedError,
        "\"normal_kernel_cpu\" not implemented for 'Long'",
    ),
    (
        "t.multinomial(t.ones(2), 3)",
        RuntimeError,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    ("t.multinomial(t.ones(2), 0)", RuntimeError, "cannot sample n_sample <= 0 samples"),
    ("t.multinomial(t.ones(2, 2, 2), 1)", RuntimeError, "prob_dist must be 1 or 2 dim"),
    (
        "t.multinomial(t.tensor([1, 2]), 1)",
        RuntimeError,
        "multinomial only supports floating-point dtypes for input, got: Long",
    ),
    (
        "t.multinomial(t.tensor([0.5, -0.5]), 1, True)",
        RuntimeError,
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    (
        "t.multinomial(t.tensor([0.5, -0.5]), 2, True)",
        RuntimeError,
        "invalid multinomial distribution (encountering probability entry < 0)",
    ),
    (
        "t.multinomial(t.tensor([0.5, inf]), 2, True)",
        RuntimeError,
        "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
    ),
    ("t.multinomial(t.zeros(2), 2)", RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)"),
    (
        "t.multinomial(t.ones(3), 2.5)",
        TypeError,
        "multinomial(): argument 'num_samples' (position 2) must be int, not float",
    ),
    ("t.rand_like([1.0])", TypeError, "rand_like(): argument 'input' (position 1) must be Tensor, not list"),
    (
        "t.randint_like(t.zeros(2), 5.0)",
        TypeError,
        "randint_like() received an invalid combination of arguments - got (Tensor, float), but expected one of:…",
    ),
]


@pytest.mark.parametrize(("program", "kind", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_pytorch_refuses_is_refused_in_its_words(lib, program, kind, text):
    before = lib.get_rng_state()
    with raises(lib, kind, text):
        eval(program, {"t": lib, "inf": inf, "nan": nan})
    if "[0.5, 2.0]" not in program:  # found out on the way
        assert lib.equal(lib.get_rng_state(), before)


@pytest.mark.parametrize("fill", ["uniform_()", "normal_()", "bernoulli_()", "random_(5)", "geometric_(0.5)"])
def test_expanded_tensors_are_not_filled(lib, fill):
    with raises(lib, RuntimeError, OVERLAP1):
        eval(f"t.empty(1, 3).expand(2, 3).{fill}", {"t": lib})


def test_ranges_with_gaps_in_a_floating_dtype_warn_and_stay_inside(lib):
    text = (
        "to - 1 is out of bounds [-(2^11), 2^11]. Due to precision limitations c10::Half can support discrete uniform "
        "distribution only within this range. This warning will become an error in version 1.7 release, please fix "
        "the code in advance"
    )
    with warns(lib, text):
        drawn = lib.empty(500, dtype=lib.float16).random_(60000)
    assert drawn.max() < 60000


def test_a_resized_out_of_normal_warns(lib):
    text = (
        "An output with one or more elements was resized since it had shape [5], which does not match the required "
        "output shape [2].…"
    )
    out = lib.empty(5)
    with warns(lib, text):
        lib.normal(lib.zeros(2), lib.ones(2), out=out)
    assert tuple(out.shape) == (2,)
