"""Every method, property and slot of every extension class, called with a wrong self, None and half-made objects."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fresh

SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
def test_wrong_selves_raise_and_do_not_crash(lib, share, tmp_path):
    program = Path(__file__).with_name("hostile_self.py")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(Path(lib.__file__).parents[1]),
                                                               os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen([sys.executable, str(program), str(share), str(SHARES)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
                               cwd=tmp_path)       # some of the methods write files
    try:
        out, errors = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("no end after 300 s; the last calls:\n" + process.communicate()[1][-2000:])
    assert process.returncode == 0, f"exit {process.returncode}; the last calls:\n{errors[-3000:]}"
    assert int(out.split()[-1]) > 1000


@pytest.mark.parametrize("method", ["dim()", "size()", "size(0)", "detach()", "numpy()", "requires_grad_(True)", "is_contiguous()"])
def test_calls_that_were_made_for_tensors_ask_for_self(lib, method):
    """Note [Calls without self]: Python has put another instruction in place of the call by then."""
    fresh(lib, f"""
    def call(x):
        return x.{method}
    for _ in range(1000):
        call(torch.ones(2))
    for other in (torch.Tensor, 5, None, "a", torch.ones, list):
        try:
            call(other)
        except (TypeError, AttributeError):
            continue
        assert False, other
    """)


@pytest.mark.parametrize("call", [
    "T.detach(5)", "list(map(T.data_ptr, [t, 3.0]))", "T.t_(None)", "T.t_(5)", "T.size(None)", "T.backward('a')",
    "T.shape.__get__(5)", "T.__add__(5, t)", "T.__getitem__(None, 0)", "T.__setitem__(5, 0, 1)", "T.__repr__(5)",
    "T.__len__(None)", "T.__format__(t[0, 0], {})", "T.item(3)", "T.numpy(None)", "T.register_hook(5, print)", "T.requires_grad_(None)",
    "T._make_subclass(T, None)", "T.relu(None)", "T.add_(None, 1)", "T.view(5, 1)", "T.unsqueeze_(None, 0)",
    "torch.UntypedStorage.tolist(5)", "torch.UntypedStorage.resize_(None, 5)", "torch.UntypedStorage.fill_(t, 5)",
    "torch.Generator.manual_seed(5, 1)", "torch.Generator.get_state(None)", "torch.Generator.__setstate__(5, b'')",
    "torch.Size.__getitem__(5, 0)", "torch.Size.numel(5)", "torch.device.__repr__(5)", "torch.dtype.to_complex(5)",
    "type(n).register_prehook(5, print)", "type(n).name(None)", "type(n).next_functions.__get__(5)",
    "torch.no_grad.__enter__(5)", "torch.core.tensor.Tensor.dim(None)", "type(torch.add).rule(5)",
])  # fmt: skip
def test_methods_that_once_crashed(lib, call):
    t = lib.ones(2, 2)
    names = {"torch": lib, "T": lib.Tensor, "t": t, "n": (lib.ones(2, requires_grad=True) * 2).grad_fn}
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        eval(call, names)
