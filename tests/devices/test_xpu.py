"""Operations on `xpu`, where dpnp and a SYCL device are (make test-xpu): every fourth in the tests, all for the table of
docs/devices.md (python -m tests.devices.coverage)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.devices.compare import SAID, differences
from tests.devices.test_operations import KEYS, LACKING

FEW = [key for i, key in enumerate(KEYS) if i % 4 == 0 or SAID[key].namespaces[0] == "nn.functional"]


@pytest.mark.parametrize("key", FEW)
def test_an_operation_does_there_what_it_does_on_the_cpu(key):
    found = list(differences(key, "xpu", most=2))        # kernels are compiled as they are met
    if key in LACKING:
        assert {word for word, _ in found} <= {"lacks"}
    else:
        assert not found, "\n".join(f"{word}: {text}" for word, text in found)


# Host tasks that drop references need the interpreter's lock; a function that waited for them with this lock would wait for ever.
BESIDE_HOST_TASKS = """
import faulthandler
import dpctl
from dpctl.utils import SequentialOrderManager
import claygrad as torch

faulthandler.dump_traceback_later(60, exit=True)
queue = dpctl.get_device_cached_queue((dpctl.get_devices(device_type="gpu") or dpctl.get_devices())[0])
x = torch.eye(20, device="xpu") * 3 + 1
for _ in range(5):
    for _ in range(20):
        event = queue._submit_keep_args_alive((object(),), [])
        SequentialOrderManager[queue].add_event_pair(event, event)
    {call}
"""


@pytest.mark.parametrize("call", ["x + x", "torch.sin(x)", "torch.frexp(x)", "torch.linalg.cholesky(x)", "torch.linalg.solve(x, x)",
                                  "torch.linalg.inv(x)", "torch.linalg.eigh(x)", "torch.linalg.qr(x)", "torch.linalg.svdvals(x)",
                                  "torch.linalg.det(x)", "torch.fft.fft(x)", "torch.fft.rfft(x)", "torch.fft.irfft(x)", "x @ x", "x.sum()",
                                  "x[x > 1]", "x.cpu()", "x.to(torch.float64)", "x.sort()"])
def test_functions_do_not_wait_for_ever_beside_host_tasks(call):
    done = subprocess.run([sys.executable, "-c", BESIDE_HOST_TASKS.format(call=call)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
