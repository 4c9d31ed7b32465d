"""The flame graph: its boxes, its file, and the page in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import claygrad as torch
from claygrad import nn
from claygrad.profiler import profile, record_function
from claygrad.profiler._export import flame_tree

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.fixture
def prof():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            with record_function("a </script> step"):
                net(torch.ones(4, 8)).sum().backward()
                optimizer.step()
    return prof, net


def boxes(frame, depth=0):
    yield frame, depth
    for inner in frame.frames.values():
        yield from boxes(inner, depth + 1)


def test_boxes(prof):
    root = flame_tree(prof[0].events())
    everything = [frame for frame, _ in boxes(root)]
    names = {frame.name for frame in everything}
    assert {"all", "a </script> step", "body", "0", "1", "head", "aten::linear", "aten::addmm", "AddmmBackward0"} <= names
    for frame in everything:
        assert sum(inner.time for inner in frame.frames.values()) <= frame.time * 1.0001 + 0.01
    linear = [frame for frame in everything if frame.name == "aten::linear"]
    assert sum(frame.count for frame in linear) == 6
    assert any(frame.module == "body.0" for frame in linear)
    assert all("test_flame_graph.py" in line for frame in linear for line in frame.lines)


def test_the_file_stands_alone(prof, tmp_path):
    prof[0].export_flame_graph(str(tmp_path / "flame.html"), title="<b>title</b>")
    page = (tmp_path / "flame.html").read_text()
    assert "&lt;b&gt;title" in page
    assert re.findall(r"https?://|src=|@import|url\(", page) == []
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["n"] == "all"


DRIVER = """
<script>
const said = {};
function boxes() { return [...document.querySelectorAll(".box")]; }
function named(name) { return boxes().find(b => b.textContent === name); }
try {
  said.boxes = boxes().length;
  said.whole = named("all").offsetWidth;
  const before = boxes().filter(b => b.textContent && b.offsetWidth < 0.9 * said.whole).sort((a, b) => b.offsetWidth - a.offsetWidth)[0];
  said.zoomed = before.textContent;
  said.width = before.offsetWidth;
  before.click();
  said.after = named(said.zoomed).offsetWidth;
  said.above = named("all").classList.contains("above");
  document.getElementById("reset").click();
  said.reset = named(said.zoomed).offsetWidth;
  const search = document.getElementById("search");
  search.value = "linear";
  search.dispatchEvent(new Event("input"));
  said.hits = document.querySelectorAll(".hit").length;
  said.dim = document.querySelectorAll(".dim").length;
  said.found = document.getElementById("found").textContent;
  search.value = "(";
  search.dispatchEvent(new Event("input"));
  document.getElementById("reset").click();
  said.cleared = document.querySelectorAll(".hit, .dim").length;
  boxes().find(b => b.getAttribute("aria-label").includes("aten::linear"))
    .dispatchEvent(new MouseEvent("mousemove", { clientX: 50, clientY: 50 }));
  said.tip = document.getElementById("tip").textContent;
  said.tipShown = getComputedStyle(document.getElementById("tip")).display;
} catch (error) { problems.push(String(error)); }
said.problems = problems;
const out = document.createElement("pre");
out.id = "said";
out.textContent = JSON.stringify(said);
document.body.append(out);
</script>
"""
WATCH = """<script>
const problems = [];
addEventListener("error", event => problems.push(event.message));
for (const name of ["error", "warn"]) console[name] = (...words) => problems.push(words.join(" "));
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium")
def test_in_a_browser(prof, tmp_path):
    prof[0].export_flame_graph(str(tmp_path / "flame.html"))
    page = (tmp_path / "flame.html").read_text()
    page = page.replace("<header>", WATCH + "<header>", 1).replace("</html>", DRIVER + "</html>")
    (tmp_path / "driven.html").write_text(page)
    assert CHROMIUM is not None
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,600", "--dump-dom",
                           "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
                           (tmp_path / "driven.html").as_uri()], capture_output=True, text=True, timeout=120, check=True)
    match = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stderr[-2000:]
    said = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert said["problems"] == []
    assert said["boxes"] > 8
    assert said["width"] < said["whole"]
    assert said["after"] == said["whole"]             # a click makes it as wide as the graph
    assert said["above"]
    assert said["reset"] == said["width"]
    assert said["hits"] >= 1
    assert said["dim"] >= 1
    assert said["found"].endswith("% of the time")
    assert said["cleared"] == 0
    assert said["tipShown"] == "block"
    assert "aten::linear" in said["tip"]
    assert "test_flame_graph.py" in said["tip"]
    assert "module body.0" in said["tip"] or "module head" in said["tip"]


def test_the_page_says_how_to_read_it(prof, tmp_path):
    prof[0].export_flame_graph(str(tmp_path / "flame.html"))
    page = (tmp_path / "flame.html").read_text()
    assert '<p id="guide">' in page
    assert '<table id="top">' in page
