"""Examples in docstrings run, and print what they say they print."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import operator
import pkgutil
from collections.abc import Iterator

import numpy
import pytest

import claygrad
from claygrad.ops._registry import REGISTRY


def modules() -> Iterator[str]:
    yield "claygrad"
    for module in pkgutil.walk_packages(claygrad.__path__, "claygrad."):
        if not module.name.endswith(".libclay_kernels"):        # a library that lies beside the modules
            yield module.name


def examples() -> Iterator[doctest.DocTest]:
    names = {"claygrad": claygrad, "torch": claygrad, "numpy": numpy}
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        if name == "claygrad.devices._xpu" and importlib.util.find_spec("dpnp") is None:
            continue
        module = importlib.import_module(name)
        yield from finder.find(module, extraglobs=names)
    parser = doctest.DocTestParser()
    for key, said in REGISTRY.items():
        if said.kind != "composite" and said.fn.__doc__:     # no function any more: the finder does not see it
            yield parser.get_doctest(said.fn.__doc__, dict(names), f"operation {key}", None, None)


EXAMPLES = {test.name: test for test in examples() if test.examples}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name):
    claygrad.manual_seed(0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    output: list[str] = []
    runner.run(EXAMPLES[name], out=output.append)
    assert runner.failures == 0, "".join(output)


def test_examples_are_found():
    assert len(EXAMPLES) > 10


@pytest.mark.parametrize("name", ["save", "load", "autograd.backward", "autograd.grad", "nn.utils.clip_grad_norm_", "nn.init.eye_",
                                  "utils.data.default_collate", "distributions.kl_divergence"])
def test_a_public_function_shows_its_words(name):
    # Note [Guarded functions]: they are of a type of their own, which must not hide what the source says
    function = operator.attrgetter(name)(claygrad)
    assert function.__doc__
    assert inspect.getdoc(function)
    assert not type(function).__doc__ or function.__doc__ != type(function).__doc__
