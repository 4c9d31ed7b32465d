"""The command line, as a user calls it."""

from __future__ import annotations

import configparser
import subprocess
import sys
import venv
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

PROGRAM = """
import sys
import torch
from torch import nn
model = nn.Linear(2, 1)
print(torch.__name__, sys.argv[1:], model(torch.ones(2)).shape, __name__)
"""


def claygrad(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "claygrad", *arguments], capture_output=True, text=True, timeout=120,
                          **options)  # type: ignore[call-overload]


def test_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = claygrad("run", str(tmp_path / "train.py"), "--epochs", "3")
    assert done.stdout == "torch ['--epochs', '3'] torch.Size([1]) __main__\n", done.stderr


def test_run_finds_the_neighbours_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import torch\nvalue = torch.ones(1).item()\n")
    (tmp_path / "train.py").write_text("import helper\nprint(helper.value)\n")
    assert claygrad("run", str(tmp_path / "train.py")).stdout == "1.0\n"


def test_run_a_module(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    done = claygrad("run", "-m", "job", "x", cwd=tmp_path)
    assert done.stdout == "torch ['x'] torch.Size([1]) __main__\n", done.stderr


def test_the_programs_exit_code_and_traceback_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import sys\nsys.exit(7)\n")
    assert claygrad("run", str(tmp_path / "bad.py")).returncode == 7
    (tmp_path / "worse.py").write_text("raise KeyError('mine')\n")
    done = claygrad("run", str(tmp_path / "worse.py"))
    assert done.returncode == 1
    assert "KeyError: 'mine'" in done.stderr


@pytest.mark.parametrize("form", [["train.py"], ["-m", "train"]])
def test_tracebacks_begin_in_the_program(tmp_path: Path, form: list[str]) -> None:
    (tmp_path / "train.py").write_text("import torch\ndef f(x):\n    return x @ torch.ones(2, 2)\nf(torch.ones(3, 3))\n")
    done = claygrad("run", *form, cwd=tmp_path)
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert len(frames) == 2, done.stderr
    assert all("train.py" in line for line in frames)


def test_anomaly_mode_shows_the_program_alone(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\nlayer = torch.nn.Linear(1, 1)\nwith torch.autograd.detect_anomaly():\n"
                       "    loss = (layer(torch.ones(1)) * 0).sqrt().sum()\n    loss.backward()\n")
    told = claygrad("run", str(program)).stderr
    frames = [line for line in told.splitlines() if line.startswith('  File "')]
    assert frames[0] == f'  File "{program}", line 4, in <module>'
    assert not [line for line in frames if "runpy" in line or "claygrad" in line]



@pytest.mark.parametrize("arguments", [["run", "nowhere.py"], ["run", "-m", "nowhere_at_all"], ["check", "nowhere_at_all"],
                                       ["run", "."], ["run"], ["shim"], []])
def test_wrong_use_is_one_line_and_exit_code_2(arguments: list[str], tmp_path: Path) -> None:
    done = claygrad(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_check(tmp_path: Path) -> None:
    path = tmp_path / "uses.py"
    path.write_text("import torch\nfrom torch.nn import functional as F\nimport torch.utils.data as data\n"
                    "F.relu(torch.ones(2))\ndata.DataLoader\ntorch.no_such_name(1)\n")
    done = claygrad("check", str(path))
    assert done.returncode == 1
    assert f"missing  torch.no_such_name  {path}:6" in done.stdout
    assert "relu" not in done.stdout
    path.write_text("import torch\nprint(torch.ones(2))\ntry:\n    from torch import no_such_name\nexcept ImportError:\n"
                    "    pass\n")
    done = claygrad("check", str(path))
    assert done.returncode == 0
    assert "the program says what to do without it" in done.stdout


def test_check_finds_names_that_are_none_and_those_that_packages_alone_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "packages.py"
    path.write_text("import torch\nfrom torch.optim.optimizer import ParamsT, _use_grad_for_differentiable\n"
                    "from torch.nn.common_types import _size_2_t\nfrom torch.utils.tensorboard.writer import SummaryWriter\n"
                    "print(torch.version.cuda, torch.newaxis, torch.distributed.group.WORLD)\ntorch.version.no_such_name\n")
    done = claygrad("check", str(path))
    assert done.stdout.count("missing  ") == 1
    assert "missing  torch.version.no_such_name" in done.stdout


def test_check_does_not_judge_operators_that_a_program_registers(tmp_path: Path) -> None:
    path = tmp_path / "operators.py"
    path.write_text("import torch\ntorch.ops.mine.square(torch.ones(2))\ntorch.ops.aten.no_such_operator\n")
    done = claygrad("check", str(path))
    assert "mine" not in done.stdout


def test_info() -> None:
    told = claygrad("info").stdout
    for word in ("claygrad", "Python", "NumPy", "instructions"):
        assert word in told


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An empty virtual environment that sees this one's packages, claygrad among them."""
    venv.create(tmp_path / "env", with_pip=False)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    seen = [path for path in sys.path if path.endswith(("site-packages", "site"))]
    (site / "others.pth").write_text("\n".join(seen) + "\n")
    return tmp_path / "env"


def test_a_shim_in_another_folder_leaves_pip_alone(tmp_path: Path) -> None:
    before = {path: path.exists() for path in (Path(sys.prefix, "pip.conf"), Path(sys.prefix, "pip.ini"))}
    program = ("from pathlib import Path; import claygrad.cli.shim as shim\n"
               f"shim._refuse_real_torch = lambda site: None\nshim.install(Path({str(tmp_path)!r}))")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert {path: path.exists() for path in before} == before


def test_shim(environment: Path) -> None:
    if not (environment / "bin" / "python").exists():
        pytest.fail("the environment has no Python")
    python = str(environment / "bin" / "python")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, *arguments], capture_output=True, text=True, timeout=120)

    real = call("-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)").returncode
    done = call("-m", "claygrad", "shim", "--install")
    if real:
        assert done.returncode == 2
        assert "itself is installed here" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    done = call("-c", "import torch, importlib.metadata as m; print(torch.__name__, m.version('torch'), torch.float32)")
    assert done.stdout == "torch 2.13.0+claygrad torch.float32\n", done.stderr
    site = next(environment.glob("lib/python*/site-packages"))
    listed = [line.partition(",")[0] for line in (site / "torch-2.13.0+claygrad.dist-info" / "RECORD").read_text().split()]
    assert all((site / name).exists() for name in listed)
    # a requirement of the shim's would let pip replace it by the real torch where that resolves a conflict
    assert call("-c", "import importlib.metadata as m; print(m.requires('torch'))").stdout == "None\n"
    # so would a package that wants another torch, if pip were not held to this one
    settings = configparser.RawConfigParser()
    settings.read(environment / "pip.conf")
    constraints = Path(url2pathname(urlparse(settings["install"]["constraint"]).path))
    assert constraints.read_text() == "torch==2.13.0+claygrad\n"
    assert call("-m", "claygrad", "shim", "--uninstall").returncode == 0
    assert not (site / "torch").exists()
    assert not (environment / "pip.conf").exists()
    assert call("-m", "claygrad", "shim", "--uninstall").returncode == 2
    (environment / "pip.conf").write_text("[global]\n")
    assert "constraint = file:" in call("-m", "claygrad", "shim", "--install").stdout
    assert call("-m", "claygrad", "shim", "--uninstall").returncode == 0
    assert (environment / "pip.conf").read_text() == "[global]\n"
