"""More elements than 31 bits count, and more memory than there is."""

from __future__ import annotations

import pytest

from tests.support import fresh


def _available() -> float:
    """Free memory in GiB; 0 where it cannot be known."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**20
    except (OSError, StopIteration):
        return 0.0


@pytest.mark.slow
@pytest.mark.skipif(_available() < 7, reason="needs 7 GiB of free memory")
def test_two_to_the_31_elements_index_correctly(lib):
    out = fresh(
        lib,
        """
        n = 2**31 + 8
        a = torch.zeros(n, dtype=torch.uint8)
        a[-1] = 7
        a[2**31] = 5
        a[2**31 - 1:2**31 + 1] += 1
        print(a.numel() == n, a[n - 1].item(), a[2**31].item(), a[2**31 - 1].item(), a[-9:].tolist())
        print(a.sum().item(), a.max().item(), a.argmax().item() == n - 1)
        print(a.view(2, -1)[1, -1].item(), a.view(-1, 8)[-1].tolist(), a[::2**30].tolist())
        b = a[2**31 - 4:]
        print(b.storage_offset() == 2**31 - 4, b.tolist())
        b.fill_(3)
        print(a[2**31 - 5].item(), a[2**31 - 4].item(), a[-1].item())
        print((a == 3).sum().item(), a.count_nonzero().item())
        i = torch.tensor([n - 1, 0, 2**31])
        print(a[i].tolist(), a.index_select(0, i).tolist(), a.nonzero().numel())
        a[i] = torch.tensor([1, 2, 4], dtype=torch.uint8)
        print(a[0].item(), a[-1].item(), a[2**31].item())
        """,
        timeout=600,
    )
    assert out.splitlines() == [
        "True 7 6 1 [1, 6, 0, 0, 0, 0, 0, 0, 7]",
        "14 7 True",
        "7 [6, 0, 0, 0, 0, 0, 0, 7] [0, 0, 6]",
        "True [0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0, 7]",
        "0 3 3",
        "12 12",
        "[3, 0, 3] [3, 0, 3] 12",
        "2 1 4",
    ]


def test_an_allocation_that_cannot_be_had_names_its_size(lib):
    for size in ((2**50,), (2**40, 2**10)):
        with pytest.raises(RuntimeError) as caught:
            lib.zeros(size)
        assert str(2**52) in str(caught.value)


def test_sizes_that_overflow_are_refused(lib):
    for make in (
        lambda: lib.empty(2**62, 2**62),
        lambda: lib.empty(2**62),
        lambda: lib.zeros(2**40, 2**40, dtype=lib.uint8),
        lambda: lib.ones(1).expand(2**62, 2**62),
    ):
        with pytest.raises(RuntimeError):
            make()


def test_an_operation_that_runs_out_of_memory_leaves_everything_usable(lib):
    out = fresh(
        lib,
        """
        import resource
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        big = torch.ones(1).expand(2**36)
        held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + 2**28, held + 2**28))
        for attempt in (lambda: big + 1, lambda: big.clone(), lambda: torch.zeros(2**34), lambda: big.exp(),
                        lambda: torch.ones(2**15, 1) * torch.ones(1, 2**16)):
            try:
                attempt()
                print("no error")
            except RuntimeError as error:
                assert "memory" in str(error), error
            except MemoryError as error:
                print("MemoryError")
        (y * y).sum().backward()
        print(x.grad.tolist())
        """,
    )
    assert out.splitlines()[-1] == "[8.0, 8.0, 8.0]"
    assert "no error" not in out
    assert "MemoryError" not in out


def test_an_expanded_shape_costs_no_memory(lib):
    y = lib.ones(1).expand(2**40)
    assert (y.stride(), y.numel(), y[2**39].item()) == ((0,), 2**40, 1.0)
    assert y.view(2**20, 2**20)[5, 7].item() == 1.0
