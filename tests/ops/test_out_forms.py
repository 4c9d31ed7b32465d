"""out= is a tensor where the result is one, and a tuple with one for each where there are several: anything else is refused."""

from __future__ import annotations

import warnings

import pytest

from tests.ops.cases import declared, ours, samples

import claygrad  # isort: skip
from tests.ops.factory import Build  # isort: skip

SAID = {key: said for key, said in declared().items() if said.out and said.public}


def _call(key: str, out):
    args, kwargs = samples(key, SAID[key])[0].build(Build(claygrad))
    return ours(claygrad, SAID[key], raw=True)(*args, **kwargs, out=out)


def _results(key: str):
    args, kwargs = samples(key, SAID[key])[0].build(Build(claygrad))
    return ours(claygrad, SAID[key], raw=True)(*args, **kwargs)


def _refusal(key: str, out) -> str:
    with pytest.raises(TypeError) as caught:
        _call(key, out)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize("key", list(SAID))
def test_out_of_another_form_is_refused(key: str):
    with warnings.catch_warnings(), claygrad.no_grad():
        warnings.simplefilter("ignore")
        results = _results(key)
        if isinstance(results, claygrad.Tensor):
            assert _refusal(key, (claygrad.zeros_like(results),)).endswith("argument 'out' must be Tensor, not tuple")
        else:
            several = tuple(claygrad.zeros_like(x) for x in results)
            n = len(several)
            assert _refusal(key, claygrad.zeros(n, 2)).endswith("argument 'out' must be tuple of Tensors, not Tensor")
            assert _refusal(key, several[:-1]) == f"expected tuple of {n} elements but got {n - 1}"
            assert all(not x.count_nonzero() for x in several)
