"""`debug.memory()` accounts for every byte that the allocator counts, by kind, line and module."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import claygrad as torch
from claygrad import debug, nn

HERE = __file__


def line_with(mark: str) -> int:
    """The number of the line of this file that ends with a mark."""
    return next(i for i, text in enumerate(Path(HERE).read_text().splitlines(), 1) if text.endswith(f"# {mark}"))


def adds_up(report: debug.memory) -> bool:
    kinds = report.by_kind
    return (sum(kinds.values()) == report.reserved and sum(kinds.values()) - kinds["pool"] == report.allocated
            and sum(use.bytes for use in report.by_line) == report.allocated)


def trained():
    model = nn.Sequential(nn.Linear(50, 80), nn.BatchNorm1d(80), nn.ReLU(), nn.Linear(80, 10))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(16, 50)).square().mean().backward()
    optimizer.step()
    return model, optimizer


@pytest.fixture(autouse=True)
def only_what_is_alive():
    gc.collect()


def test_the_kinds_add_up_to_what_the_allocator_counts_and_nothing_is_left_over():
    before = debug.memory()
    model, optimizer = trained()
    kept = model(torch.randn(16, 50))
    report = debug.memory()
    assert report.allocated == torch.memory.allocated()
    assert report.reserved == torch.memory.reserved()
    assert adds_up(report)
    # what the survey cannot attribute did not grow by anything that this program made
    assert report.by_kind["other"] == before.by_kind["other"]
    for kind in ("parameters", "gradients"):
        grown = report.by_kind[kind] - before.by_kind[kind]
        assert sum(p.nbytes for p in model.parameters()) <= grown <= 1.3 * sum(p.nbytes + 64 for p in model.parameters())
    assert report.by_kind["optimizer state"] - before.by_kind["optimizer state"] >= 2 * sum(p.nbytes for p in model.parameters())
    assert report.by_kind["buffers"] > before.by_kind["buffers"]
    assert report.by_kind["saved for backward"] > before.by_kind["saved for backward"]
    del kept, optimizer


def test_every_kind_of_memory_is_told_apart():
    def grown(make):
        before = debug.memory().by_kind
        held = make()
        after = debug.memory().by_kind
        assert held is not None
        return {kind: after[kind] - before[kind] for kind in after if kind != "pool" and after[kind] != before[kind]}

    block = 10240                                                  # of 10,000 bytes: a class of the pool
    assert grown(lambda: torch.ones(2500)) == {"tensors": block}
    assert grown(lambda: torch.ones(2500, requires_grad=True)) == {"parameters": block}
    assert grown(lambda: torch.ones(2500).numpy()) == {"NumPy exports": block}
    assert grown(lambda: torch.from_numpy(numpy.ones(2500))) == {}
    assert grown(lambda: [torch.ones(2500).view(50, 50)[1:]]) == {"tensors": block}

    def graph():
        w = torch.ones(2500, requires_grad=True)
        return (w * 2).exp().sum()                                 # only the graph keeps the result of exp
    assert grown(graph) == {"parameters": block, "saved for backward": block, "tensors": 64}

    def overwritten():
        w = torch.ones(2500, requires_grad=True)
        y = w * 2
        loss = (y * y).sum()
        y.zero_()
        return loss, y
    assert grown(overwritten) == {"parameters": block, "tensors": block + 64, "copies for mutation": block}

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.exp())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    out = grown(lambda: Square.apply(torch.ones(2500, requires_grad=True)))
    assert out == {"parameters": block, "tensors": block, "saved for backward": block}


def test_results_of_declared_forwards_which_lie_in_numpys_arrays_are_counted_too():
    x = torch.rand(3000, dtype=torch.float64) + 1
    before = debug.memory()
    y = torch.special.zeta(x, 2.0), torch.logcumsumexp(x, 0), torch.kron(x, torch.ones(2, dtype=torch.float64))
    after = debug.memory()
    assert adds_up(after)
    assert after.by_kind["tensors"] - before.by_kind["tensors"] >= sum(t.nbytes for t in y)
    assert after.by_kind["other"] <= before.by_kind["other"]


def test_borrowed_memory_is_told_but_not_counted():
    array = numpy.ones(100_000)
    before = debug.memory()
    t = torch.from_numpy(array)
    after = debug.memory()
    assert after.borrowed - before.borrowed == t.nbytes == array.nbytes
    assert after.allocated == before.allocated


def test_lines_and_modules():
    model = nn.Sequential(nn.Linear(500, 400))                     # made here
    loss = model(torch.ones(8, 500)).exp().sum()                   # saved here
    report = debug.memory()
    uses = {use.where.line: use for use in report.by_line if use.where is not None and use.where.file == HERE}
    assert uses[line_with("made here")].kinds["parameters"] >= 500 * 400 * 4
    assert uses[line_with("saved here")].kinds["saved for backward"] >= 8 * 400 * 4
    assert uses[line_with("made here")].where.source.startswith("model = nn.Sequential")
    assert report.by_module["model[0]"] >= 500 * 400 * 4
    assert list(report.by_module.values()) == sorted(report.by_module.values(), reverse=True)
    assert "by kind" not in str(report)
    assert "parameters" in str(report)
    assert "model[0]" in str(report)
    del loss


def test_the_line_of_the_peak_is_always_known():
    torch.memory.reset_peak()
    before = torch.memory.peak()
    assert before == torch.memory.allocated()
    big = torch.ones(300_000) * 2                                  # the peak
    del big
    report = debug.memory()
    assert report.peak.bytes >= before + 2 * 1_200_000
    assert (report.peak.where.file, report.peak.where.line) == (HERE, line_with("the peak"))
    debug.memory.reset_peak()
    assert torch.memory.peak() == torch.memory.allocated()


def test_a_ledger_knows_the_line_of_results_that_no_graph_recorded():
    x = torch.ones(1000)
    assert (x + 1).origin is None
    with debug.memory() as ledger:
        y = x + 1                                                  # unrecorded
        view = y[10:]
        inner = torch.linalg.norm(y) + x.sin().cos()               # several at once
        assert y.origin[:2] == view.origin[:2] == (HERE, line_with("unrecorded"))
        assert inner.origin[1] == line_with("several at once")
        lines = {use.where.line: use for use in ledger.by_line if use.where is not None and use.where.file == HERE}
        assert lines[line_with("unrecorded")].kinds == {"tensors": 4032}
        assert adds_up(ledger)
    assert adds_up(ledger)
    assert y.origin is None                                        # the ledger is closed
    assert x.origin is not None


def test_a_ledger_tells_what_was_alive_at_the_peak():
    model = nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Linear(300, 5))
    x = torch.ones(64, 200)
    with debug.memory() as ledger:
        for _ in range(3):
            with torch.no_grad():
                out = model(x)                                     # forward
            scratch = torch.zeros(400_000)                         # largest
            del scratch
        loss = model(x).sum()
        loss.backward()
    peak = ledger.peak
    assert peak.where.line == line_with("largest")
    at_peak = {use.where.line: use.bytes for use in peak.by_line if use.where is not None}
    assert at_peak[line_with("largest")] >= 1_600_000
    assert sum(use.bytes for use in peak.by_line) == peak.bytes
    assert peak.bytes > torch.memory.allocated()
    assert out.shape == (64, 5)

    with debug.memory() as ledger:
        out = model(x)
        ledger.reset_peak()
        kept = model[0](torch.ones(2000, 200))
    assert ledger.peak.module == "model[0]"
    assert ledger.peak.by_module["model[0]"] >= kept.nbytes
    assert ledger.by_module["model[0]"] >= kept.nbytes


def test_a_failed_forward_leaves_no_module_running():
    model = nn.Linear(3, 4)
    with debug.memory() as ledger:
        with pytest.raises(RuntimeError):
            model(torch.ones(5))
        after = torch.ones(10_000)
    assert ledger.by_module.get("model", 0) < after.nbytes


def test_a_ledger_is_closed_by_an_error_and_one_at_a_time():
    with pytest.raises(ZeroDivisionError), debug.memory():
        1 / 0
    with debug.memory(), pytest.raises(RuntimeError, match="open already"), debug.memory():
        pass
    x = torch.ones(5) + 1
    assert x.origin is None


def test_threads_and_gradients_in_a_ledger():
    def work():
        for _ in range(50):
            w = torch.ones(100, requires_grad=True)
            (w * w).sum().backward()

    with debug.memory() as ledger:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    gc.collect()
    assert adds_up(ledger)
    assert adds_up(debug.memory())


def test_the_report_of_a_bare_program():
    program = "import claygrad; r = claygrad.debug.memory(); print(sum(r.by_kind.values()) == claygrad.memory.reserved()); print(r)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.startswith("True\n")


def test_debug_is_loaded_when_it_is_asked_for():
    program = "import sys, claygrad; print(any(name.startswith('claygrad.debug') for name in sys.modules)); claygrad.debug.memory; print(dir(claygrad.debug))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.startswith("False\n")
    assert "'referrers'" in out
