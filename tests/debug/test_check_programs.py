"""`debug.check()` finds nothing wrong with the examples and with programs as users write them."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

import claygrad as torch
from claygrad import debug

ROOT = Path(__file__).parents[2]
EXAMPLES = ("digits_cnn", "char_gpt", "forecast", "vae", "cartpole", "pinn")
PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "programs").glob("*.py"))

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_wrong_with_an_example(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.delitem(sys.modules, "workbench", raising=False)
    spec = importlib.util.spec_from_file_location(f"checked_{name}", ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reports = []

    class Enough(Exception):
        pass

    def train(name, model, optimizer, step, told, schedule=None, notes=None):
        done = []

        def one():
            optimizer.zero_grad()
            loss = step(len(done))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            done.append(loss.item())

        for _ in range(2):
            reports.append(debug.check(model, one))
        raise Enough

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "options", lambda *args: Namespace(steps=3, seed=0, out=tmp_path, fresh=True), raising=False)
    with pytest.raises(Enough):
        module.main()
    assert len(reports) == 2
    assert [str(report) for report in reports] == ["nothing wrong was found"] * 2


class Around(ast.NodeTransformer):
    """Puts `with __watched__():` around the body of each innermost loop that goes backward."""

    def __init__(self):
        self.loops = 0

    def visit_For(self, node):
        self.generic_visit(node)
        inner = any(isinstance(one, ast.For) and "__watched__" in ast.dump(one) for one in ast.walk(node) if one is not node)
        if not inner and any(isinstance(one, ast.Attribute) and one.attr in ("backward", "step") for one in ast.walk(node)):
            self.loops += 1
            call = ast.parse("with __watched__(): pass").body[0]
            call.body = node.body
            node.body = [ast.copy_location(call, node.body[0])]
        return node


RUNNER = '''
import sys, contextlib
from claygrad import compat
compat.as_torch()
import claygrad as torch
from claygrad.debug import _check, _names
from claygrad.nn import Module

sessions, found, bodies, depth = {}, [], [0], [0]

@contextlib.contextmanager
def watched():
    frame = sys._getframe(2)
    bodies[0] += 1
    held = {**frame.f_globals, **_names.variables(frame)}
    trained = _check._optimized()
    models = [x for x in held.values() if isinstance(x, Module) and any(id(p) in trained for p in x.parameters())]
    inner = {id(child) for model in models for child in model.modules() if child is not model}
    models = [model for model in models if id(model) not in inner]
    del held, frame
    new = []
    with contextlib.ExitStack() as stack:
        for model in models if depth[0] == 0 and bodies[0] <= 40 else ():
            if id(model) not in sessions:
                sessions[id(model)] = _check.Session(model)
            if len(sessions[id(model)].marks) <= 3:
                new.append(sessions[id(model)])
                stack.enter_context(sessions[id(model)])
        depth[0] += 1
        yield
        depth[0] -= 1
    for session in new:
        if not session.watch.backwards:                  # a round without training, such as one that fills a memory
            session.marks.pop()
            continue
        found.extend(map(str, session.findings()))
        found.extend(map(str, session.piled()))
'''


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_wrong_with_a_program(name, tmp_path):
    path = ROOT / "tests" / "programs" / f"{name}.py"
    around = Around()
    tree = ast.fix_missing_locations(around.visit(ast.parse(path.read_text())))
    if not around.loops:
        pytest.fail("no training loop was found")
    program = tmp_path / f"{name}.py"
    program.write_text(ast.unparse(tree))
    script = tmp_path / "run.py"
    script.write_text(RUNNER + f"space = {{'__name__': '__main__', '__file__': {str(program)!r}, '__watched__': watched}}\n"
                      f"exec(compile(open({str(program)!r}).read(), {str(program)!r}, 'exec'), space)\n"
                      "print('FOUND', sum(bool(one.watch.backwards) for one in sessions.values()), found)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1])})
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("FOUND ")
    assert last.startswith("FOUND 0 ") == (name == "custom_function"), "a model was not watched"       # that has none
    assert last.endswith(" []"), last
