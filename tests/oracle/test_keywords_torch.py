"""Keywords that an operation does not have, in PyTorch's words: which operations are refused as a combination of arguments."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")
import claygrad  # noqa: E402
from claygrad.core import Op  # noqa: E402
from claygrad.core.dispatch.wrong_arguments import SEVERAL_FORMS  # noqa: E402

# Other names of div, mul and sub, which PyTorch refuses in other words than those.
KNOWN = ["divide", "divide_", "multiply", "multiply_", "subtract", "subtract_", "true_divide", "true_divide_"]
PROPERTIES = {"H", "mH", "mT", "T", "imag", "real", "grad", "data", "shape", "names"}


def first_line(function, *args, **kwargs) -> str:
    try:
        function(*args, **kwargs)
    except TypeError as error:
        return re.sub(r"^\w+\(\)", "it()", str(error).split("\n")[0].replace("claygrad.", "torch."))      # less is lt, and add_ add
    except Exception as error:
        return type(error).__name__
    return "nothing"


def forms(lib, name: str) -> dict:
    x = lib.ones(2)
    found = {"function": (getattr(lib, name, None), (x,)), "method": (getattr(x, name, None), ())}
    return {form: (f, args) for form, (f, args) in found.items() if callable(f)}


@pytest.mark.parametrize("name", sorted(SEVERAL_FORMS))
def test_a_combination_is_refused_alike(name):
    ours, theirs_of = forms(claygrad, name), forms(torch, name)
    for form in ours.keys() & theirs_of.keys():
        if form == "function" and name.endswith("_"):
            continue                         # one object with the method here
        (f, args), (wanted, its) = ours[form], theirs_of[form]
        said = first_line(f, *args, foo=1)
        if "got an unexpected keyword" in said or "missing" in said:
            continue                         # functions that bind their own arguments have Python's words
        theirs = first_line(wanted, *its, foo=1)
        if "got unrecognized keyword" in theirs:                    # for some it lists the keywords alone
            assert said.partition(" - got")[0] == theirs.partition(" - got")[0]
        else:
            assert said == theirs


def test_no_operation_of_one_form_is_refused_as_a_combination():
    unlike = []
    for name in dir(torch.Tensor):
        if name.startswith("_") or name in PROPERTIES or not isinstance(getattr(claygrad.Tensor, name, None), Op):
            continue
        theirs, ours = first_line(getattr(torch.ones(2), name), foo=1), first_line(getattr(claygrad.ones(2), name), foo=1)
        if ("invalid combination" in theirs) != ("invalid combination" in ours):
            unlike.append(name)
    assert unlike == KNOWN
