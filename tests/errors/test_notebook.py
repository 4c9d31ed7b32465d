"""A notebook that fails: its tracebacks have no frame of claygrad's, and lines are those of cells."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbconvert.preprocessors import ExecutePreprocessor

CELLS = [
    "import claygrad as torch\nfrom claygrad import nn\nw = torch.randn(3, 4, requires_grad=True)",
    "def score(a, b):\n    return a @ b\nscore(w, w)",
    ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = nn.Sequential(nn.Linear(4, 5), "
    "nn.Linear(6, 2))\n    def forward(self, x):\n        return self.body(x)\nmodel = Net()"),
    "model(w)",
    "chosen = w.argmax(1)\nchosen.float().sum().backward()",
    "torch.optim.SGD(model, lr=0.1)",
    "model.load_state_dict({'module.' + k: v for k, v in model.state_dict().items()})",
    "y = (w * 2).sum()\ny.backward()\ny.backward()",
    "torch.tensor([[1, 2], [3]])",
    "w.trasnpose(0, 1)",
    "torch.optim.Adma",
    "w.astype('float32')",
    "torch.zeros(2, requires_grad=True).grad.zero_()",
    "w.sum().item().backward()",
    "'text'.trasnpose()",
    "0.1 * torch.zeros(2, requires_grad=True).grad",
    "for p in model.parameters: pass",
    "for i, x, y in enumerate(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(w, w))): pass",
    "state = model.state_dict()\nstate['body.0.wieght']",
    "torch.load('model_best.pt')",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> list[str]:
    """What each cell printed as its traceback, without colours."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    runner = ExecutePreprocessor(timeout=120, kernel_name="python3", allow_errors=True)
    runner.preprocess(notebook, {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}})
    shown = []
    for cell in notebook.cells:
        errors = [output for output in cell.outputs if output.output_type == "error"]
        shown.append(re.sub(r"\x1b\[[\d;]*m", "", "\n".join(errors[0].traceback)) if errors else "")
    return shown


def test_the_cells_fail_that_should(outputs):
    assert [number for number, text in enumerate(outputs, 1) if not text] == [1, 3]


def test_no_frame_is_claygrads(outputs):
    for text in outputs:
        assert re.findall(r"File .*claygrad|claygrad/|\.pyx", text) == []
        assert "ipykernel_" not in text


def test_lines_are_those_of_cells(outputs):
    assert "at Cell In[2], line 2, in score: return a @ b" in outputs[1]
    assert "a, b: (3, 4) float32, made at Cell In[1], line 3, in <module>: w = torch.randn(3, 4, requires_grad=True)" in outputs[1]
    assert "in model.body[1]: Linear(in_features=6, out_features=2, bias=True) got (3, 5)" in outputs[3]
    assert "it was cut from its graph at Cell In[5], line 1" in outputs[4]


def test_the_way_out_is_there(outputs):
    ways = [(1, r"a @ b\.T"), (3, "in_features=5"), (4, "argmax"), (5, r"model\.parameters\(\)"), (6, "removeprefix"), (7, "retain_graph"),
            (8, "one length"), (9, "did you mean transpose"), (10, "did you mean Adam"), (11, r"x\.to\(dtype\)"),
            (12, r"call backward\(\) before"), (13, r"without item\(\)"), (15, r"\.grad is None"),
            (16, r"model\.parameters\(\)"), (17, r"for i, \(x, y\) in enumerate"), (18, "body.0.weight"), (19, "there is no such file")]
    for number, way in ways:
        assert re.search(way, outputs[number]), outputs[number]


def test_attributes_of_other_objects_are_left_alone(outputs):
    assert outputs[14].rstrip().endswith("AttributeError: 'str' object has no attribute 'trasnpose'")
