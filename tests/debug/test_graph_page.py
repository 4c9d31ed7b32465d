"""The page of a graph. What it holds, and that its script is whole, is tested everywhere; what it does, where Chromium and its
driver are installed (Debian: chromium, chromium-driver)."""
from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

import claygrad
from claygrad import nn

from . import browser
from .graph_models import Large, Net, net_loss


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def scripts_of(page):
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)


@pytest.fixture(scope="module")
def model():
    return Net()


@pytest.fixture(scope="module")
def page(model):
    loss = net_loss(model)
    return claygrad.graph(loss, gradients=True).html()


def test_the_data_is_a_tree_with_edges(page):
    data = data_of(page)
    items = data["items"]
    inside = [child for item in items for child in item.get("children", ())]
    assert sorted([*inside, data["root"]]) == list(range(len(items)))   # each in one group, but the root
    steps = {i for i, item in enumerate(items) if "children" not in item}
    assert {end for edge in data["edges"] for end in edge} <= steps
    reached, waiting = set(), [data["root"]]
    while waiting:
        at = waiting.pop()
        reached.add(at)
        waiting += items[at].get("children", ())
    assert reached == set(range(len(items)))
    repeat = next(item for item in items if item["kind"] == "repeat")
    assert (repeat["name"], repeat["type"], len(repeat["children"])) == ("layers.0…11", "Block", 12)
    weight = next(item for item in items if item["name"] == "layers.3.fc1.weight")
    assert (weight["kind"], weight["short"], weight["shape"], weight["dtype"]) == ("parameter", "weight", "(16, 8)", "float32")
    assert float(weight["norm"]) > 0
    addmm = next(item for item in items if item["name"] == "addmm")
    file, line, _ = addmm["line"]
    assert "self.embed(x)" in data["sources"][file][str(line)]


def test_the_page_needs_nothing_else(page):
    without_data = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']?(?!data:|[\"'])\w", without_data)
    assert "@import" not in page
    assert "fetch(" not in page
    assert "XMLHttpRequest" not in page
    assert "Chris Pettitt" in page                                      # the licence goes where the library goes
    assert len(page) < 200_000


def test_names_cannot_break_out_of_the_page():
    class Evil(nn.Module):
        def forward(self, x):
            return x * 2  # </script><script>alert(1)</script>

    evil = Evil()
    page = claygrad.graph(evil(claygrad.ones(2, requires_grad=True))).html()
    assert len(scripts_of(page)) == 2
    assert "<script>alert" not in page
    sources = data_of(page)["sources"]
    assert any("</script><script>alert(1)" in text for lines in sources.values() for text in lines.values())


def test_the_notebook_gets_the_page_in_a_frame(model, page):
    text = claygrad.graph(net_loss(model), gradients=True)._repr_html_()
    inside = html.unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', text)[1])
    assert [item["name"] for item in data_of(inside)["items"]] == [item["name"] for item in data_of(page)["items"]]


PIECE = re.compile(r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | (?<=[(,=:])\s*/(?:\\.|\[[^\]\n]*\]|[^/\\\n])+/[a-z]*
                       | [`{}()\[\]]""", re.VERBOSE | re.DOTALL)


def brackets_match(script):
    """Whether the brackets of a script match; strings, comments, templates and regular expressions are left out."""
    open_, at = [], 0
    while (found := PIECE.search(script, at)) is not None:
        piece, at = found[0], found.end()
        if piece == "`" or (piece == "}" and open_ and open_[-1] == "${"):
            if piece == "}":
                open_.pop()
            end = re.compile(r"(?:\\.|(?!\$\{)[^`\\])*(`|\$\{)", re.DOTALL).match(script, at)
            if end is None:
                return False
            at = end.end()
            if end[1] == "${":
                open_.append("${")
        elif piece in "{([":
            open_.append(piece)
        elif piece in "})]" and (not open_ or open_.pop() != {"}": "{", ")": "(", "]": "["}[piece]):
            return False
    return not open_


def test_the_script_is_whole(page, tmp_path):
    library, script = scripts_of(page)
    assert library.strip().startswith("/* dagre")
    assert brackets_match(script)
    assert not brackets_match(script.replace("function fit() {", "function fit() {{", 1))
    used = set(re.findall(r'\bat\("(\w+)"\)', script))                   # every element that it asks for is in the page
    assert used - {"all"} <= set(re.findall(r'id="(\w+)"', page))
    node = shutil.which("node")
    if node is not None:
        for k, text in enumerate((library, script)):
            (tmp_path / f"{k}.js").write_text(text, encoding="utf-8")
            assert subprocess.run([node, "--check", tmp_path / f"{k}.js"], capture_output=True, text=True).stderr == ""


# In a real browser

needs_browser = pytest.mark.skipif(not browser.HERE, reason="no Chromium with its driver here: the tests above check the page without")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


def labels(chromium):
    return chromium.run("return [...document.querySelectorAll('.item')].map(e => e.getAttribute('aria-label'))")


def number_of(page, name, kind=None):
    return next(i for i, item in enumerate(data_of(page)["items"]) if item["name"] == name and kind in (None, item["kind"]))


def save(page, folder, name="graph.html"):
    (folder / name).write_text(page, encoding="utf-8")
    return folder / name


@needs_browser
def test_open_expand_and_collapse(chromium, page, tmp_path):
    chromium.open(save(page, tmp_path))
    assert labels(chromium) == ["model", "embed", "layers.0…11 × 12", "head", "0", "1", "2", "loss = nll_loss"]
    repeat = number_of(page, "layers.0…11")
    chromium.click(f"[data-toggle='{repeat}']")
    assert [f"layers.{i}" for i in range(12)] == [label for label in labels(chromium) if label.startswith("layers.") and "…" not in label]
    chromium.click("#less")
    assert labels(chromium) == ["model", "loss = nll_loss"]
    chromium.click("#more")
    assert labels(chromium).count("addmm") == 27
    chromium.run("document.querySelector('.item').focus()")
    chromium.type(".item", "\ue007")                                    # Enter closes what has the focus
    assert labels(chromium) == ["model", "loss = nll_loss"]
    assert chromium.complaints() == []


@needs_browser
def test_click_shows_the_line(chromium, page, tmp_path):
    chromium.open(save(page, tmp_path))
    chromium.click(f"[data-toggle='{number_of(page, 'embed')}']")
    chromium.click(f"[data-item='{number_of(page, 'addmm')}']")
    text = chromium.text("#panel")
    assert "AddmmBackward0" in text
    assert "embed: Linear" in text
    assert "gradient's norm" in text
    assert "kept for backward" in text
    assert chromium.text("#panel .here").endswith("x = self.embed(x)")
    assert chromium.run("return document.querySelectorAll('.picked').length") == 1
    chromium.click("#panel [data-go]")                                  # what it takes
    assert "embed.weight" in chromium.text("#panel") or "taken by" in chromium.text("#panel")
    assert chromium.complaints() == []


@needs_browser
def test_search_and_reveal(chromium, page, tmp_path):
    chromium.open(save(page, tmp_path))
    chromium.type("#search", "layers.7.fc2.weight")
    assert chromium.text("#panel h2") == "1 found"
    chromium.click("#panel [data-go]")
    assert "layers.7" in labels(chromium)
    assert chromium.text("#panel h2") == "layers.7.fc2.weight (parameter)"
    box = chromium.run("const b = document.querySelector('.picked').getBoundingClientRect(); return [b.x, b.y, b.right, b.bottom]")
    frame = chromium.run("const b = document.getElementById('view').getBoundingClientRect(); return [b.x, b.y, b.right, b.bottom]")
    assert frame[0] <= box[0] < box[2] <= frame[2]
    assert frame[1] <= box[1] < box[3] <= frame[3]
    assert chromium.complaints() == []


@needs_browser
def test_filter_to_the_gradients_path(chromium, page, tmp_path):
    chromium.open(save(page, tmp_path))
    weight = number_of(page, "head.0.weight")
    chromium.run("const s = document.getElementById('path'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", str(weight))
    found = labels(chromium)
    assert "embed" not in found
    assert "weight" in found
    assert {"0", "1", "2", "loss = nll_loss"} <= set(found)
    chromium.run("const s = document.getElementById('path'); s.value = ''; s.dispatchEvent(new Event('change'))")
    assert "embed" in labels(chromium)
    assert chromium.complaints() == []


@needs_browser
def test_zoom_move_and_theme(chromium, page, tmp_path):
    chromium.open(save(page, tmp_path))
    before = chromium.run("return document.getElementById('all').getAttribute('transform')")
    chromium.click("#in")
    after = chromium.run("return document.getElementById('all').getAttribute('transform')")
    assert after != before
    chromium.click("#fit")
    assert chromium.run("return document.getElementById('all').getAttribute('transform')") == before
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = chromium.run(colour)
    chromium.click("#theme")
    assert chromium.run(colour) != light
    assert chromium.complaints() == []


@needs_browser
@pytest.mark.parametrize("width", [1300, 420])
def test_nothing_sticks_out(chromium, page, tmp_path, width):
    chromium.resize(width, 900)
    try:
        chromium.open(save(page, tmp_path))
        assert chromium.run("return document.documentElement.scrollWidth <= window.innerWidth")
        size = chromium.run("const b = document.getElementById('view').getBoundingClientRect(); return [b.width, b.height]")
        assert min(size) >= 250
    finally:
        chromium.resize(1300, 900)


@needs_browser
def test_a_failure_is_shown(chromium, tmp_path):
    model = Net()
    model.layers[5].fc2 = nn.Linear(10, 8)
    with pytest.raises(RuntimeError) as caught:
        net_loss(model)
    page = claygrad.graph(caught.value).html()
    chromium.open(save(page, tmp_path))
    assert "✗ linear" in labels(chromium)
    assert "shapes cannot be multiplied" in chromium.text("#panel")
    assert chromium.run("return document.querySelectorAll('.failed').length") == 1
    first, *below = chromium.run("return [...document.querySelectorAll('#panel .bad, #panel .below')].map((p) => p.textContent)")
    assert first == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (5x16 and 10x8)"
    assert below == [line.removeprefix("  ") for line in str(caught.value).splitlines()[1:]]
    assert below[-1].endswith("make the layer with in_features=16")
    assert chromium.complaints() == []


@needs_browser
def test_the_frame_of_a_notebook_works(chromium, model, tmp_path):
    frame = claygrad.graph(net_loss(model))._repr_html_()
    chromium.open(save(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href=data:,><body>{frame}", tmp_path))
    inside = "const page = document.querySelector('iframe').contentDocument; "
    assert chromium.run(inside + "return page.documentElement.dataset.ready !== undefined")
    assert chromium.run(inside + "return page.querySelectorAll('.item').length") == 8
    assert chromium.complaints() == []


@needs_browser
def test_a_thousand_operations_open_in_two_seconds(chromium, tmp_path):
    model = Large()
    graph = claygrad.graph(model(claygrad.ones(2, 3, 8)).sum())
    assert sum(step.kind == "operation" for step in graph.steps) > 1000
    chromium.open(save(graph.html(), tmp_path))
    assert int(chromium.run("return document.documentElement.dataset.ready")) < 2000
    assert len(labels(chromium)) <= 60                                  # readable: closed as far as need be
    took = chromium.run("const t = performance.now(); document.getElementById('more').click(); return performance.now() - t")
    assert took < 5000
    assert len(labels(chromium)) > 1000
    assert chromium.complaints() == []
