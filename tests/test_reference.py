"""The reference that `make docs` writes: it has every public name, each with words, and its examples are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import claygrad
from tools.docs import examples, reference
from tools.docs.catalogue import PAGES
from tools.docs.entries import Entry, declaration
from tools.docs.rules import rules_of
from tools.docs.words import SIGNATURES

ENTRIES: dict[str, Entry] = {}
for page in PAGES:
    for _, _, found in reference.sections(page):
        ENTRIES.update((one.name, one) for one in found)
EXAMPLES = examples.load()
# Public modules whose names are those of others, or that are for packages and not for people.
ELSEWHERE = {
    "claygrad.compat": "names that only other packages ask for",
    "claygrad.cli": "the command line: `claygrad --help`",
    "claygrad.core": "the compiled core",
    "claygrad.native": "the compiled core",
    "claygrad.kernels": "the compiled core",
    "claygrad.errors": "what errors say",
    "claygrad.ops": "the declarations, which the reference is made of",
    "claygrad.version": "its names are attributes of strings",
    "claygrad.return_types": "what operations with several results return",
    "claygrad.devices": "the tables of accelerators", "claygrad.xpu": "the names of claygrad.cuda",
    "claygrad.storage": "of torch itself", "claygrad.cpu": "answers for packages", "claygrad.__main__": "", "claygrad.__config__": "",
    "claygrad.__future__": "",
}


def run(example: examples.Example) -> str:
    """What differs from what the session says it prints."""
    names = {"torch": claygrad, "nn": claygrad.nn, "F": claygrad.nn.functional}
    test = doctest.DocTestParser().get_doctest(example.session, names, example.names[0], example.file, example.line)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append)
    return "".join(output)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.session], ids=lambda one: one.names[0])
def test_the_example_runs(example):
    assert run(example) == ""


def test_an_example_that_prints_something_else_is_found():
    assert "Expected" in run(examples.parsed("# torch.ones\n>>> torch.ones(1)\ntensor([2.])\n", "x.txt")[0])


def test_examples_are_of_names_that_exist():
    assert [name for example in EXAMPLES for name in example.names if name not in ENTRIES] == []


def test_no_name_has_two_examples():
    names = [name for example in EXAMPLES for name in example.names]
    assert sorted(names) == sorted(set(names))


def test_the_200_most_used_have_examples():
    assert len({name for example in EXAMPLES if example.session for name in example.names}) >= 200


def test_every_name_has_a_sentence_and_a_signature():
    assert [name for name, one in ENTRIES.items() if not one.sentence or not one.signature] == []


def test_every_operation_is_there():
    said = {one.rpartition(".")[2] for name, entry in ENTRIES.items() for one in (name, *entry.aliases, entry.in_place)
            if name.count(".") == 1}
    assert set(reference.names_in(claygrad)) - said == set()
    families = set(reference.operations())
    assert families - {family for page in PAGES for family in page.families} == set()


def test_every_public_module_is_on_a_page():
    on_pages = {f"claygrad.{path}" for page in PAGES for path in page.modules}
    missing = []
    for module in pkgutil.iter_modules(claygrad.__path__, "claygrad."):
        private = module.name.rpartition(".")[2].startswith("_")
        if not private and module.name not in ELSEWHERE and not any(
                one == module.name or one.startswith(f"{module.name}.") for one in on_pages):
            missing.append(module.name)
    assert missing == []
    for name in on_pages - {"claygrad.torch"}:
        importlib.import_module(name)


def test_gradients_are_the_rules_of_the_declarations():
    assert rules_of(declaration(claygrad.mul)) == {"input": "g * conj(other)", "other": "g * conj(input)"}
    assert rules_of(declaration(claygrad.exp)) == {"input": "g * conj(out)"}
    assert sum(bool(rules_of(declaration(one.value))) for one in ENTRIES.values()) > 150


@pytest.mark.parametrize("name", ["torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"])
def test_signatures_that_are_written_by_hand_can_be_called(name):
    inside = SIGNATURES[name].strip("()").replace("input_size", "input_size=3", 1).replace("hidden_size", "hidden_size=4", 1)
    layer = getattr(claygrad.nn, name.rpartition(".")[2])
    assert eval(f"layer({inside})", {"layer": layer})(claygrad.zeros(5, 2, 3))[0].shape == (5, 2, 4)


def test_signatures_are_short_and_name_no_machine():
    for name, one in ENTRIES.items():
        assert "/" not in one.signature.replace(", /", ""), name
        assert " at 0x" not in one.signature, name
        assert "(...)" not in one.signature, name
