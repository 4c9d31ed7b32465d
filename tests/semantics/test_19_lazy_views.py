"""Conjugates, negatives and views of another dtype: views of the same memory, whose history follows that of their base."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import claygrad


def numbers(lib, n=2, **kwargs):
    return lib.tensor([1 + 2j, 3 - 4j, -1 + 1j, 2 - 2j][:n], dtype=lib.complex128, **kwargs)


# --- what a conjugate is ----------------------------------------------------------------------------------------------------
def test_a_conjugate_is_a_view_with_the_conjugate_bit(lib):
    c = numbers(lib)
    v = c.conj()
    assert v.is_conj()
    assert v._is_view()
    assert v._base is c
    assert v.is_contiguous()
    assert v.data_ptr() == c.data_ptr()
    assert v.tolist() == [1 - 2j, 3 + 4j]
    assert v[0].item() == 1 - 2j
    assert complex(v[1]) == 3 + 4j
    assert lib.is_conj(v)
    assert not lib.is_conj(c)
    assert not v.is_neg()
    assert v.untyped_storage().data_ptr() == c.untyped_storage().data_ptr()


def test_the_conjugate_of_a_conjugate_is_a_view_without_it(lib):
    c = numbers(lib)
    back = c.conj().conj()
    assert not back.is_conj()
    assert back._is_view()
    assert back._base is c
    assert back is not c


def test_a_real_tensor_is_its_own_conjugate(lib):
    x = lib.ones(2)
    assert x.conj() is x
    assert lib.conj_physical(x) is x
    assert x.resolve_conj() is x
    assert not x.is_conj()


def test_views_of_a_conjugate_keep_the_bit_and_copies_do_not(lib):
    v = lib.ones(2, 3, dtype=lib.complex64).conj()
    for view in (v.view(6), v[0], v[:1], v[None], v.t(), v.reshape(3, 2), v.detach(), v.data, v.contiguous(), v.to(lib.complex64),
                 v.expand(4, 2, 3), v.unbind()[0], v.split(1)[0], v.diagonal(), v.as_strided((2,), (1,))):
        assert view.is_conj()
    for made in (v.clone(), v.resolve_conj(), v[[0]], v.t().contiguous(), v.to(lib.complex128), v + 0, v.mul(1), lib.empty_like(v),
                 lib.zeros_like(v), v.new_zeros(2), v.conj_physical(), lib.cat([v, v]), copy.deepcopy(v), v.sum()):
        assert not made.is_conj()
    assert not v.detach()._is_view()
    assert v.contiguous() is v


def test_adjoints_are_lazy_views(lib):
    m = lib.tensor([[1 + 2j, 3j], [4, 5 - 1j]])
    for turned in (m.mH, m.H, m.adjoint()):
        assert turned.is_conj()
        assert turned._base is m
        assert turned.tolist() == [[1 - 2j, 4], [-3j, 5 + 1j]]


def test_parts_of_a_conjugate_are_views_of_its_memory(lib):
    c = numbers(lib)
    v = c.conj()
    assert v.imag.is_neg()
    assert v.imag._base is c
    assert v.imag.tolist() == [-2, 4]
    assert not v.real.is_neg()
    assert v.real._base is c
    assert v.real.tolist() == [1, 3]
    assert v.imag.resolve_neg().tolist() == [-2, 4]
    assert not v.imag.resolve_neg().is_neg()
    assert not v.imag.clone().is_neg()
    assert not (-v.imag).is_neg()


def test_both_bits_at_once(lib):
    v = lib._neg_view(numbers(lib).conj())
    assert v.is_conj()
    assert v.is_neg()
    assert v.tolist() == [-1 + 2j, -3 - 4j]
    assert v.imag.tolist() == [2, -4]
    assert not v.imag.is_neg()
    assert v.real.is_neg()
    assert v.real.tolist() == [-1, -3]
    assert lib._neg_view(lib.tensor([1, 2])).tolist() == [-1, -2]
    assert lib.view_as_real(lib._neg_view(numbers(lib))).tolist() == [[-1, -2], [-3, 4]]
    assert lib.view_as_complex(lib._neg_view(lib.ones(1, 2))).tolist() == [-1 - 1j]


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda lib, v: v.numpy(), RuntimeError,
     "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."),
    (lambda lib, v: v.imag.numpy(), RuntimeError,
     "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead."),
    (lambda lib, v: lib.view_as_real(v), RuntimeError, "view_as_real doesn't work on unresolved conjugated tensors."),
    (lambda lib, v: v.view(lib.float64), RuntimeError,
     "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype."),
    (lambda lib, v: v.imag.view(lib.int64), RuntimeError,
     "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype."),
    (lambda lib, v: v.__dlpack__(), BufferError, "Can't export tensors with the conjugate bit set"),
])
def test_memory_under_a_bit_is_not_handed_out(lib, call, error, text):
    with pytest.raises(error) as raised:
        call(lib, numbers(lib).conj())
    assert str(raised.value).startswith(text)
    assert numbers(lib).conj().numpy(force=True).tolist() == [1 - 2j, 3 + 4j]


def test_saving_keeps_the_bits(lib):
    v = numbers(lib).conj()
    for t in (v, v.imag, lib._neg_view(v)):
        file = io.BytesIO()
        lib.save(t, file)
        file.seek(0)
        for back in (lib.load(file), pickle.loads(pickle.dumps(t))):
            assert (back.is_conj(), back.is_neg(), back.tolist()) == (t.is_conj(), t.is_neg(), t.tolist())
        assert copy.deepcopy(t).tolist() == t.tolist()


# --- writing ------------------------------------------------------------------------------------------------------------------
def test_a_conjugate_sees_writes_to_its_base_and_passes_on_its_own(lib):
    c = numbers(lib)
    v = c.conj()
    c.mul_(2)
    assert v.tolist() == [2 - 4j, 6 + 8j]
    v.mul_(1j)
    assert v.tolist() == [4 + 2j, -8 + 6j]
    assert c.tolist() == [4 - 2j, -8 - 6j]
    v[0] = 7j
    assert c[0].item() == -7j
    v.copy_(lib.tensor([1j, 2j]))
    assert c.tolist() == [-1j, -2j]
    c.copy_(c.conj())
    assert c.tolist() == [1j, 2j]
    assert v.tolist() == [-1j, -2j]
    assert c._version == v._version
    v.imag.fill_(5)
    assert c.tolist() == [-5j, -5j]
    v.zero_()
    assert c.tolist() == [0, 0]
    v.add_(1 + 1j)
    assert c.tolist() == [1 - 1j, 1 - 1j]


def test_out_may_be_a_conjugate(lib):
    c = numbers(lib)
    kept = c.clone()
    v = c.conj()
    assert lib.add(kept, kept, out=v) is v
    assert v.tolist() == [2 + 4j, 6 - 8j]
    assert c.tolist() == [2 - 4j, 6 + 8j]


def test_parts_can_be_assigned(lib):
    c = numbers(lib)
    c.real = 0
    assert c.tolist() == [2j, -4j]
    c.imag = lib.tensor([5.0, 6.0])
    assert c.tolist() == [5j, 6j]
    c.conj().imag = lib.tensor([5.0, 6.0])
    assert c.tolist() == [-5j, -6j]
    c[:1].real = 9
    assert c.tolist() == [9 - 5j, -6j]
    x = lib.ones(2)
    x.real = 0
    assert x.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"imag is not implemented for tensors with non-complex dtypes\."):
        x.imag = 0
    with pytest.raises(TypeError, match="can't assign a str to a"):
        c.real = "x"
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        c.requires_grad_().real = 0


# --- history --------------------------------------------------------------------------------------------------------------------
def views(lib):
    """Views of a complex base, by name, with the function that makes them."""
    return {
        "real": lambda b: b.real, "imag": lambda b: b.imag, "pairs": lib.view_as_real, "conj": lambda b: b.conj(),
        "conj imag": lambda b: b.conj().imag, "conj real": lambda b: b.conj().real, "negative": lib._neg_view,
        "slice of conj": lambda b: b.conj()[1:], "conj of slice": lambda b: b[::2].conj(),
        "imag of slice": lambda b: b[1:].imag, "slice of imag": lambda b: b.imag[1:3],
        "complex again": lambda b: lib.view_as_complex(lib.view_as_real(b)[1:]),
        "both bits": lambda b: lib._neg_view(b.conj())[:2], "twice": lambda b: b.conj()[1:].conj(),
        "transposed": lambda b: b.view(2, 2).mH, "imag of both": lambda b: lib._neg_view(b.view(2, 2).mH).imag[0],
        "expanded": lambda b: b.real[:1].expand(1), "pairs of pairs": lambda b: lib.view_as_real(b.view(2, 2).t())[..., 0],
    }


def gradient(lib, made, x):
    weights = lib.linspace(0.5, 1.5, made.numel(), dtype=lib.float64).view(made.shape)
    if made.is_complex():
        weights = lib.complex(weights, weights.flip(0))
    return lib.autograd.grad(made, x, weights, retain_graph=True)[0]


@pytest.mark.parametrize("name", list(views(__import__("claygrad"))))
def test_a_write_through_a_view_is_in_the_history_of_its_base(lib, name):
    """Against differences."""
    w = lib.tensor(1.5, dtype=lib.float64, requires_grad=True)
    x = numbers(lib, 4, requires_grad=True)
    base = x * 1
    sibling = base.conj()
    view = views(lib)[name](base)
    factor = w * (2 - 1j) if view.is_complex() else w * 3
    view.mul_(factor)
    assert base.grad_fn.name().endswith("CopySlices")
    assert view._base is base
    assert sibling._base is base
    got, of_w = gradient(lib, base, x), gradient(lib, base, w)
    want = _by_differences(lib, name, x.detach(), w.detach())
    assert lib.allclose(got, want[0], atol=1e-5)
    assert lib.allclose(of_w, want[1], atol=1e-5)
    assert sibling.grad_fn is not None
    assert lib.allclose(gradient(lib, sibling.conj(), x), want[0], atol=1e-5)
    assert lib.allclose(gradient(lib, views(lib)[name](base), x), gradient(lib, view, x))


def _written(lib, name, x, w):
    base = x.clone()
    view = views(lib)[name](base)
    view.mul_(w * (2 - 1j) if view.is_complex() else w * 3)
    return base


def _by_differences(lib, name, x, w, step=1e-6):
    weights = lib.linspace(0.5, 1.5, x.numel(), dtype=lib.float64)
    weights = lib.complex(weights, weights.flip(0))

    def value(x, w):
        made = _written(lib, name, x, w)
        return (made.real * weights.real + made.imag * weights.imag).sum().item()

    slopes = []
    for i in range(x.numel()):
        parts = []
        for turn in (1, 1j):
            high, low = x.clone(), x.clone()
            high[i] += step * turn
            low[i] -= step * turn
            parts.append((value(high, w) - value(low, w)) / (2 * step))
        slopes.append(complex(*parts))
    return lib.tensor(slopes, dtype=lib.complex128), lib.tensor((value(x, w + step) - value(x, w - step)) / (2 * step),
                                                                 dtype=lib.float64)


@pytest.mark.parametrize("name", list(views(__import__("claygrad"))))
def test_a_write_to_the_base_is_seen_by_its_views(lib, name):
    x = numbers(lib, 4, requires_grad=True)
    base = x * 1
    view = views(lib)[name](base)
    before = view._version
    base.mul_(2 - 1j)
    assert view._version == before + 1
    fresh = views(lib)[name](base)
    assert lib.equal(view, fresh)
    assert lib.allclose(gradient(lib, view, x), gradient(lib, fresh, x))


def test_views_of_reals_as_complex_numbers(lib):
    x = lib.arange(8.0, dtype=lib.float64).view(4, 2).requires_grad_()
    base = x * 1
    view, part = lib.view_as_complex(base), lib.view_as_complex(base[1:]).conj().imag
    view[1:].mul_(1j)
    assert base.grad_fn.name().endswith("CopySlices")
    assert part.tolist() == [-2, -4, -6]
    (base * lib.arange(8.0).view(4, 2)).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[0, 1], [3, -2], [5, -4], [7, -6]]
    x.grad = None
    part.sum().backward()
    assert x.grad.tolist() == [[0, 0], [-1, 0], [-1, 0], [-1, 0]]


def test_second_derivatives_through_writes_to_lazy_views(lib):
    x = numbers(lib, 4, requires_grad=True)

    def function(x):
        base = x * x
        base.conj()[1:].mul_(x[:3])
        base.imag.mul_(base.real.detach() * 0 + 2)
        return base

    assert lib.autograd.gradcheck(function, (x,))
    assert lib.autograd.gradgradcheck(function, (x,))


def test_names_of_nodes(lib):
    a = numbers(lib, requires_grad=True)
    names = [t.grad_fn.name() for t in (a.conj(), a.conj().conj(), a.conj().imag, a.real, lib._neg_view(a), a.conj_physical(),
                                        a.conj().resolve_conj(), a.conj().clone())]
    assert names == ["ConjBackward0", "ConjBackward0", "SelectBackward0", "SelectBackward0", "NegViewBackward0",
                     "ConjPhysicalBackward0", "CloneBackward0", "CloneBackward0"]
    assert a.conj().imag.grad_fn.next_functions[0][0].name() == "NegViewBackward0"
    base = a * 1
    kept = [lib.view_as_real(base), base.conj(), base.imag]
    base.mul_(2)
    assert [t.grad_fn.name() for t in kept] == ["ViewAsRealBackward0", "ConjBackward0", "AsStridedBackward0"]


def test_bytes_read_as_another_dtype_are_no_view_for_autograd(lib):
    base = lib.ones(2, 2, requires_grad=True) * 1
    for dtype in (lib.int32, lib.complex64, lib.float64, lib.float32):
        seen = base.view(dtype)
        assert not seen.requires_grad
        assert not seen._is_view()
        assert seen._base is None
        assert seen.grad_fn is None
    base.view(lib.float64).mul_(2)
    assert base._version == 1
    assert base.grad_fn.name() == "MulBackward0"


def test_hooks_and_kept_gradients_of_lazy_views(lib):
    x = numbers(lib, requires_grad=True)
    base = x * 1
    view = base.conj()
    view.retain_grad()
    base.mul_(2)
    assert view.grad_fn is not None             # torch 2.13 crashes in register_hook without it
    seen = []
    view.register_hook(lambda g: seen.append(g.tolist()))
    (view * lib.tensor([1j, 2])).real.sum().backward()
    assert seen == [[-1j, 2]]
    assert x.grad.tolist() == [2j, 4]
    assert view.grad.tolist() == [-1j, 2]


def test_saved_conjugates_survive_writes(lib):
    """PyTorch refuses a backward whose saved values changed; claygrad kept them."""
    x = numbers(lib, requires_grad=True)
    base = x * 1
    out = (base.conj() * base).real.sum()
    with lib.no_grad():
        base.detach().zero_()
    if lib.__name__ == "torch":
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
    else:
        out.backward()
        assert x.grad.tolist() == [2 + 4j, 6 - 8j]


# --- memory that overlaps the written part ------------------------------------------------------------------------------------
WRITES = {
    "mul_": lambda t, x: t.mul_(x),
    "sub_": lambda t, x: t.sub_(x, alpha=2),
    "addcmul_": lambda t, x: t.addcmul_(x, x),
    "lerp_": lambda t, x: t.lerp_(x, 0.5),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("part", ["conj", "imag"])
def test_a_lazy_operand_may_overlap_what_is_written(lib, part, write):
    """It is computed into memory of its own first; without a bit, memory that partly overlaps is refused."""
    c = numbers(lib, 4)
    lazy, target = (c.conj()[:3], c[1:]) if part == "conj" else (c.conj().imag[:3], c.imag[1:])
    expected = WRITES[write](target.clone(), lazy.clone())
    WRITES[write](target, lazy)
    assert target.tolist() == expected.tolist()


@pytest.mark.parametrize("part", ["conj", "imag"])
def test_a_copy_of_a_lazy_view_reads_before_it_writes(part):
    """PyTorch refuses one of them, and the other one reads what it has written."""
    c = numbers(claygrad, 4)
    lazy, target = (c.conj()[:3], c[1:]) if part == "conj" else (c.conj().imag[:3], c.imag[1:])
    expected = lazy.tolist()
    assert target.copy_(lazy).tolist() == expected


def test_a_lazy_operand_may_overlap_out(lib):
    c = numbers(lib, 4)
    expected = (c.conj()[1:] * 3).tolist()
    assert lib.mul(c.conj()[1:], 3, out=c[:3]).tolist() == expected
