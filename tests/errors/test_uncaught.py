"""Errors that Python raises on its own, where they are shown: plain programs, threads, IPython. Other hooks are left in peace."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import claygrad as torch
from claygrad.errors._uncaught import explain, note
from tests.support.pythons import WITH_LOCK


def printed(program: str, tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    return subprocess.run([sys.executable, *WITH_LOCK, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path).stderr


def test_a_plain_program_says_the_way_out(tmp_path):
    text = printed("""
        import claygrad as torch
        w = torch.ones(3, requires_grad=True)
        w.grad.zero_()
    """, tmp_path)
    assert 'program.py", line 4, in <module>' in text
    assert text.splitlines()[-2] == "AttributeError: 'NoneType' object has no attribute 'zero_'"
    assert text.splitlines()[-1].startswith("  w.grad is None, for no backward() has reached w: call backward() before this line")


def test_a_thread_does(tmp_path):
    text = printed("""
        import threading
        import claygrad as torch
        def work():
            torch.ones(3).sum().item().backward()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """, tmp_path)
    assert "Exception in thread" in text
    assert "without item() and tolist()" in text


def test_the_hook_that_was_there_shows_the_error(tmp_path):
    text = printed("""
        import sys
        seen = []
        def before(kind, error, trace):
            print("mine:", kind.__name__, error, getattr(error, "__notes__", []), file=sys.stderr)
        sys.excepthook = before
        import claygrad as torch
        import importlib
        importlib.import_module("claygrad._lazy").listen()
        torch.ones(3).trasnpose(0, 1)
    """, tmp_path)
    assert text.count("mine: AttributeError 'Tensor' object has no attribute 'trasnpose'") == 1
    assert "did you mean transpose?" in text
    assert "Traceback" not in text


def test_a_hook_that_is_set_later_stays(tmp_path):
    text = printed("""
        import sys
        import claygrad as torch
        sys.excepthook = lambda kind, error, trace: print("theirs:", error, file=sys.stderr)
        torch.ones(3).trasnpose(0, 1)
    """, tmp_path)
    assert text == "theirs: 'Tensor' object has no attribute 'trasnpose'\n"


@pytest.mark.parametrize("program", [
    "raise ValueError('my own words')", "'a'.zero_()", "{}['key']", "None.work()", "1 + None", "raise KeyboardInterrupt", "[][3]",
    "def f(): pass\nf() + 1 if f() else f().nothing",
])
def test_what_has_nothing_to_do_with_claygrad_stays_as_it_is(program, tmp_path):
    text = printed(f"import claygrad\n{program}", tmp_path)
    plain = printed(program, tmp_path)
    assert text.splitlines()[-1] == plain.splitlines()[-1] or "is None" in text


def test_an_error_is_explained_once():
    with pytest.raises(AttributeError) as caught:
        torch.ones(2).trasnpose(0, 1)
    note(caught.value)
    note(caught.value)
    assert len(caught.value.__notes__) == 1
    explain(caught.value)
    assert str(caught.value).count("did you mean") == 1


def test_importing_loads_no_errors(tmp_path):
    text = printed("""
        import sys
        import claygrad
        print([name for name in sys.modules if name.startswith("claygrad.errors")], file=sys.stderr)
    """, tmp_path)
    assert text == "[]\n"


def test_ipython_shows_the_way_out(tmp_path):
    pytest.importorskip("IPython")
    made = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance(colors="nocolor")
        shell.run_cell("import claygrad as torch\\nw = torch.ones(3, requires_grad=True)")
        for cell in ("w.trasnpose(0, 1)", "0.1 * w.grad", "for p in torch.nn.Linear(1, 1).parameters: pass", "w @ torch.ones(2, 2)"):
            shell.run_cell(cell)
    """)], capture_output=True, text=True, check=False, cwd=tmp_path)
    text = made.stdout + made.stderr
    for way in ("did you mean transpose?", "w.grad is None, for no backward() has reached w", "call it,", "must be equal"):
        assert way in text, text
    assert "claygrad/" not in text
    assert ".pyx" not in text
