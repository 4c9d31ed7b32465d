"""What `make docs` does to pages, and what the tree must hold for it."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import PurePosixPath
from xml.etree import ElementTree

import pytest

from tests.support.documents import ROOT, documents
from tools.docs import changelog, charts, notebooks, outside, pages, reference
from tools.docs.catalogue import PAGES

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
NAVIGATION = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
HERE = PurePosixPath("questions/data.md")


# Pages

def test_every_page_is_in_the_navigation():
    written = {path.removeprefix("docs/") for path in documents() if path.startswith("docs/")}
    made = {f"reference/{page.slug}.md" for page in PAGES} | {"reference/index.md", "contributing.md", "changelog.md"}
    notebooks = {f"tutorials/{path.stem}.md" for path in NOTEBOOKS}
    assert written | made | notebooks == NAVIGATION


@pytest.mark.parametrize("document", documents())
def test_links_to_the_reference_name_a_page_of_it(document):
    named = set(re.findall(r"reference/([\w-]+)\.md", (ROOT / document).read_text()))
    assert named <= {page.slug for page in PAGES} | {"index"}


@pytest.mark.parametrize(("page", "given", "made"), [
    (HERE, "[a](functions.md#x)", "[a](functions.md#x)"),
    (HERE, "[a](../graph.md)", "[a](../graph.md)"),
    (HERE, "[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
    (HERE, "[a](../tutorials/digits.ipynb)", "[a](../tutorials/digits.md)"),
    (HERE, "[a](https://pytorch.org)", "[a](https://pytorch.org)"),
    (HERE, "[the tests](../../tests/test_site.py)", "the tests (`tests/test_site.py`)"),
    (HERE, "[tests/test_site.py](../../tests/test_site.py)", "`tests/test_site.py`"),
    (PurePosixPath("contributing.md"), "[how](changes/README.md)", "[how](changelog.md)"),
    (PurePosixPath("contributing.md"), "[a](docs/graph.md)", "[a](graph.md)"),
])
def test_a_link_leads_to_a_page_or_becomes_the_name_of_a_file(page, given, made):
    assert pages.prepared(given, page) == made


def test_a_link_to_a_file_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"nothing\.py"):
        pages.prepared("[x](../../nothing.py)", HERE)


def test_blocks_of_code_stay_as_they_are_but_for_the_language_of_sessions():
    text = '```python title="PyTorch"\n>>> x[0](y)  # $a$\n```\n\n```python\nx = "[a](b)"\n```\n'
    assert pages.prepared(text, HERE) == text.replace('python title', 'pycon title', 1)


def test_programs_and_messages_of_the_mistakes_are_told_apart():
    text = "## 1. A\n\n```text\nx = 1\n```\n\nPyTorch\n\n```text\nError\n```\n"
    made = '## 1. A\n\n```python\nx = 1\n```\n\n```text title="PyTorch"\nError\n```\n'
    assert pages.prepared(text, PurePosixPath("mistakes.md")) == made
    assert pages.prepared(text, HERE) == text


def test_formulas_become_mathml_and_dollars_in_code_stay():
    made = pages.prepared("the $x^2$ of `$y$` for 5 $ or 6 $\n\n$$\\frac{1}{2}$$\n", HERE)
    assert made.count("<math") == 2
    assert "`$y$` for 5 $ or 6 $" in made
    assert '<div class="formula"><math' in made


def test_words_of_docstrings_are_no_markup():
    assert reference.escaped("x_i^2 * a < b, `x_i`") == "x&#95;i&#94;2 &#42; a &#60; b, `x_i`"
    assert reference.docstring("One.\n\n>>> x\n1") == "One.\n\n```python\n>>> x\n1\n```"
    assert reference.docstring("One.\n\n>>> x\n1", sessions=False) == "One."


# Charts

TABLE = "| what | torch | ratio |\n|---|--:|--:|\n| `a \\| b` | 1.5 µs | 0.25 |\n| c | 2 ms | 0.5 |\n"


def test_a_table_is_drawn_as_shares():
    made = charts.drawn(f"<!-- chart: share ratio; Time -->\n{TABLE}")
    assert made.endswith(TABLE)
    assert made.count(f'width="{charts.BARS}"') == 2                        # PyTorch's
    assert f'width="{charts.BARS * 0.25:.1f}"' in made
    assert "<figcaption>Time</figcaption>" in made


def test_a_table_is_drawn_up_to_its_largest_number():
    made = charts.drawn(f"<!-- chart: torch; Time -->\n{TABLE}")
    assert f'width="{charts.BARS:.1f}"' in made
    assert charts.value("1.5 µs") == 1.5e-6
    assert charts.value("3,229") == 3229
    assert charts.value("2.0%") == 0.02


def test_a_page_shows_the_chart_of_another():
    text = charts.drawn("a\n\n<!-- chart of benchmarks.md: Time of small operations, as a share of PyTorch's -->\n\nb\n")
    assert text.count('<rect class="bar-0"') > 10
    assert "|" not in text
    with pytest.raises(ValueError, match="has 0 charts"):
        charts.drawn("<!-- chart of benchmarks.md: No such title -->\n")


def test_a_table_without_a_mark_stays():
    assert charts.drawn(TABLE) == TABLE


# Notebooks

@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_is_python(path):
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert path.stat().st_size < 50_000
    assert [cell["outputs"] for cell in cells if cell["outputs"] or cell["execution_count"]] == []
    assert "".join(notebook["cells"][0]["source"]).startswith("# ")
    for cell in cells:
        source = "".join(cell["source"])
        compile(re.sub(r"^%.*$", "", source, flags=re.MULTILINE), path.name, "exec")


def test_there_is_a_notebook_for_each_subject():
    assert {path.stem for path in NOTEBOOKS} >= {"digits", "transformer", "physics", "reinforcement", "gaussian-process", "serving"}


def test_a_notebook_becomes_a_page_with_its_outputs(tmp_path):
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
               {"output_type": "execute_result", "data": {"text/plain": "5"}},
               {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>", "text/plain": "<Figure>"}}]
    notebook = {"cells": [{"cell_type": "markdown", "source": ["# Title\n", "Words."]},
                          {"cell_type": "code", "source": "%matplotlib inline", "outputs": [], "metadata": {"tags": ["hide"]}},
                          {"cell_type": "code", "source": ["print(1)"], "outputs": outputs, "metadata": {}}]}
    page = notebooks.page(notebook, "small", tmp_path)
    assert page.startswith('# Title\n\n*A notebook: <a href="small.ipynb" download>')
    assert "```python\nprint(1)\n```" in page
    assert "```text { .output }\na\nb\n```" in page
    assert "\n5\n" in page
    assert "matplotlib" not in page
    assert "(small-1.svg)" in page
    assert (tmp_path / "small-1.svg").read_text() == "<svg/>"


def test_the_name_of_a_cells_file_is_not_that_of_the_machine():
    output = {"output_type": "stream", "text": [f"add  {tempfile.gettempdir()}/ipykernel_114/388885.py:26\n"]}
    assert notebooks.shown(output) == ("add  cell.py:26", None)


# The whole

@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/**/*.svg")), ids=lambda path: path.name)
def test_a_browser_draws_the_pictures_of_pages(path):
    """It does not without the namespace, if the picture is a file of its own."""
    assert ElementTree.parse(path).getroot().tag.endswith("/svg}svg")


def test_what_a_page_would_fetch_is_found(tmp_path):
    (tmp_path / "x.html").write_text('<a href="https://pytorch.org">x</a><script src="https://pytorch.org/a/x.js"></script>'
                                     '<link href="//pytorch.org/b/x.css"><img src="own.png">')
    (tmp_path / "x.css").write_text("@font-face { src: url('https://pytorch.org/c/f.woff') } a { background: url(own.png) }")
    links, fetched = outside.read(tmp_path)
    assert links == {"https://pytorch.org": ["x.html"]}
    assert set(fetched) == {"https://pytorch.org/a/x.js", "//pytorch.org/b/x.css", "https://pytorch.org/c/f.woff"}


def test_the_changelog_has_every_news_fragment():
    page = changelog.page()
    for path in (ROOT / "changes").glob("*.*.md"):
        assert " ".join(path.read_text().removeprefix("- ").split())[:40].partition("<")[0] in page
    assert "\n- - " not in page
