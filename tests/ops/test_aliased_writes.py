"""In-place operations whose other operands lie in the memory that is written: the result of the form that is not in place."""

from __future__ import annotations

import pytest

import claygrad as torch

CASES = {
    "addmm_": lambda a: (a, a.t()),
    "addmm_ transposed": lambda a: (a.t(), a),
    "addmv_": lambda a: (a.expand(3, 3) if a.dim() == 1 else a, a[0]),
    "addr_": lambda a: (a[0], a[:, 1]),
    "baddbmm_": lambda a: (a, a.transpose(1, 2)),
    "addbmm_": lambda a: (a.expand(2, 3, 3), a.t().expand(2, 3, 3)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("recorded", [False, True])
def test_the_result_is_that_of_the_form_that_is_not_in_place(case, recorded):
    name = case.split()[0]
    shape = (2, 3, 3) if name == "baddbmm_" else (3, 3)
    torch.manual_seed(0)
    start = torch.randn(shape, dtype=torch.float64, requires_grad=recorded)
    base = start * 1
    if name == "addmv_":
        target, operands = base[1], (base, base[0])
        clone = base.clone()
        expected = clone[1].addmv(clone, clone[0])
    else:
        target, operands = base, CASES[case](base)
        clone = base.clone()
        expected = getattr(clone, name[:-1])(*CASES[case](clone))
    getattr(target, name)(*operands)
    assert torch.allclose(target, expected)
    if recorded:
        (g,) = torch.autograd.grad(target.sum(), start, retain_graph=True)
        (wanted,) = torch.autograd.grad(expected.sum(), start)
        assert torch.allclose(g, wanted)
