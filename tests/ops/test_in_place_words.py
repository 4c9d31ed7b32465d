"""In-place forms with every parameter given, by place and by name: they take those of the operation, except `inplace=`."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.ops.cases import declared, flat, kind_of, numbers, outcome, samples
from tests.ops.factory import Build, Call

import claygrad  # isort: skip
from claygrad.core import Op, op_named  # isort: skip
from claygrad.ops._registry import METHODS  # isort: skip

SAID = {key: said for key, said in declared().items() if said.inplace}


def _form(said: Any) -> Any:
    return METHODS[said.name + "_"]


def _filled(said: Any, call: Call) -> tuple[list[Any], list[str]] | None:
    """All arguments of a sample in the order of the parameters, defaults too; None where it has more than fit in there."""
    words = inspect.signature(said.fn).parameters
    names = list(words)[0 if said.kind in ("view", "multi_view", "composite") else 1:]
    if len(call.args) > len(names) or any(words[name].kind.name.startswith("VAR") for name in names):
        return None
    given = dict(zip(names, call.args, strict=False)) | call.kwargs
    if set(given) - set(names) or any(words[n].default is words[n].empty and n not in given for n in names):
        return None
    return [given.get(name, words[name].default) for name in names], names


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b) and str(a).partition("\n")[0] == str(b).partition("\n")[0]       # below it stands the call
    return kind_of(a.dtype) == kind_of(b.dtype) and (numbers(a).tobytes() == numbers(b).tobytes())


@pytest.mark.parametrize("key", SAID)
def test_all_parameters_by_place_and_by_name(key: str):
    said = SAID[key]
    form, how, tried = _form(said), Build(claygrad), 0
    for call in samples(key, said):
        filled = _filled(said, call)
        if filled is None:
            continue
        values, names = filled
        values, names = zip(*[(v, n) for v, n in zip(values, names, strict=True) if n != "inplace"], strict=True)
        short = outcome(claygrad, form, call, how)
        count = sum(p.kind.name != "KEYWORD_ONLY" for n, p in inspect.signature(said.fn).parameters.items() if n in names)
        places = Call(values[:count], dict(zip(names[count:], values[count:], strict=True)))
        assert _same(outcome(claygrad, form, places, how), short), f"{call} with all parameters by place"
        words = Call(values[:1], dict(zip([n.rstrip("_") for n in names[1:]], values[1:], strict=True)))
        assert _same(outcome(claygrad, form, words, how), short), f"{call} with all parameters by name"
        tried += 1
    assert tried or said.kind == "composite" or not isinstance(said.op, Op)


@pytest.mark.parametrize("inplace", [True, False, None, 1])
@pytest.mark.parametrize("key", SAID)
def test_no_in_place_form_takes_inplace(key: str, inplace: object):
    said = SAID[key]
    call = samples(key, said)[0]
    for value in (_form(said), op_named(said.label + "_")):
        if value is None:
            continue
        args, kwargs = call.build(Build(claygrad))
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'inplace'|invalid combination of arguments"):
            value(*args, **kwargs, inplace=inplace)
        filled = _filled(said, call)
        if filled is not None and "inplace" in filled[1]:
            values = [v for v, n in zip(*filled, strict=True) if n != "inplace"]
            args, kwargs = Call((*values, inplace), {}).build(Build(claygrad))
            with pytest.raises(TypeError, match=r"takes .* positional argument"):
                value(*args, **kwargs)


def test_methods_take_no_inplace():
    """Only the functions of nn.functional do."""
    words = [name for name, form in METHODS.items() if isinstance(form, Op) and "inplace" in form.__text_signature__]
    assert words == []
    for form in METHODS.values():
        if isinstance(form, Op) and "inplace" in form.params:
            with pytest.raises(TypeError, match="unexpected keyword argument 'inplace'"):
                form(claygrad.ones(3), inplace=True)


def test_the_functions_write_into_their_input_when_asked():
    for key, said in SAID.items():
        if "nn.functional" not in said.namespaces or "inplace" not in said.op.params:
            continue
        args, kwargs = samples(key, said)[0].build(Build(claygrad))
        wanted = said.op(*args, **kwargs)
        assert said.op(*args, **kwargs, inplace=True) is args[0]
        assert all(_same(a, b) for a, b in zip(flat(wanted), flat(args[0]), strict=True)), key
