"""A tensor in a notebook, its picture, and the options of printing that PyTorch has not."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import claygrad as torch


def pixels_of(png: bytes) -> np.ndarray:
    """Reads a PNG of eight bits in three colours, and checks its sums."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


@pytest.fixture(autouse=True)
def usual_options():
    yield
    torch.set_printoptions(profile="default")


def test_a_notebook_shows_text_shape_dtype_and_device():
    html = torch.ones(2, 3, requires_grad=True)._repr_html_()
    assert "tensor([[1., 1., 1.]," in html
    assert "shape (2, 3) · float32 · cpu · requires grad" in html
    assert "<img" not in html
    assert "grad_fn=&lt;MulBackward0&gt;" in (torch.ones(2, requires_grad=True) * 2)._repr_html_()
    assert "shape (2, 0) · int64 · meta" in torch.empty(2, 0, dtype=torch.int64, device="meta")._repr_html_()


def test_a_picture_on_request():
    with torch.printoptions(picture=True):
        assert '<img src="data:image/png;base64,' in torch.rand(4, 5)._repr_html_()
        for without in (torch.empty(0), torch.empty(3, device="meta"), torch.eye(2).to_sparse()):
            assert "<img" not in without._repr_html_()
    assert "<img" not in torch.rand(4, 5)._repr_html_()


def test_subclasses_and_parameters():
    class Shy(torch.Tensor):
        def __repr__(self):
            return "<shy>"

    assert "&lt;shy&gt;" in torch.ones(2).as_subclass(Shy)._repr_html_()
    assert "Parameter containing" in torch.nn.Parameter(torch.ones(2))._repr_html_()


def test_the_colours_of_a_picture(tmp_path):
    x = torch.tensor([[0.0, 1.0], [2.0, float("nan")]])
    seen = pixels_of(x.picture().png())
    assert seen.shape == (2, 2, 3)
    assert tuple(seen[0, 0]) == (68, 1, 84)
    assert tuple(seen[1, 0]) == (253, 231, 37)
    assert tuple(seen[1, 1]) == (255, 0, 255)
    signed = pixels_of(torch.tensor([[-1.0, 0.0, 3.0]]).picture().png())
    assert tuple(signed[0, 1]) == (247, 247, 247)
    x.picture().save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes() == x.picture().png()


@pytest.mark.parametrize(("shape", "size"), [((), (1, 1)), ((5,), (1, 5)), ((2, 3), (2, 3)), ((4, 2, 3), (2, 3)), ((3, 6, 7), (6, 7)),
                                             ((2, 3, 6, 7), (6, 7)), ((1000, 4), (250, 4)), ((1, 1, 300), (1, 150))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_pictures_of_all_shapes_and_dtypes(shape, size, dtype):
    x = (torch.rand(shape) * 2).to(dtype)
    picture = x.picture()
    assert pixels_of(picture.png()).shape == (*size, 3)
    assert str(shape) in repr(picture)
    assert "<img" in picture._repr_html_()


def test_a_colour_image_keeps_its_colours():
    red = torch.zeros(3, 2, 2)
    red[0] = 1
    assert (pixels_of(red.picture().png()) == [255, 0, 0]).all()
    assert (pixels_of((red * 255).to(torch.uint8).picture().png()) == [255, 0, 0]).all()


@pytest.mark.parametrize("x", [torch.empty(0, 3), torch.empty(3, device="meta"), torch.eye(2).to_sparse()])
def test_what_has_no_elements_has_no_picture(x):
    with pytest.raises(RuntimeError, match=r"picture\(\)"):
        x.picture()


def test_large_numbers_and_infinities():
    x = torch.tensor([-1.7e308, 1.7e308, float("inf")], dtype=torch.float64)
    seen = pixels_of(x.picture().png())
    assert tuple(seen[0, 0]) == (5, 48, 97)
    assert tuple(seen[0, 1]) == (103, 0, 31)
    assert tuple(seen[0, 2]) == (255, 0, 255)


def test_the_shape_beside_the_elements():
    x = torch.arange(3.0)
    assert "shape" not in torch.get_printoptions()
    torch.set_printoptions(shape=True)
    assert repr(x) == "tensor([0., 1., 2.], shape=(3,))"
    assert repr(torch.empty(2, 0)) == "tensor([], shape=(2, 0))"
    assert repr(x.double().requires_grad_()) == "tensor([0., 1., 2.], shape=(3,), dtype=claygrad.float64, requires_grad=True)"
    assert torch.get_printoptions()["shape"] is True
    with torch.printoptions(shape=False):
        assert repr(x) == "tensor([0., 1., 2.])"
    assert "shape=(3,)" in repr(x)
    torch.set_printoptions(precision=2)
    assert "shape=(3,)" in repr(x)
    torch.set_printoptions(profile="default")
    assert repr(x) == "tensor([0., 1., 2.])"
    with torch.printoptions(shape=True):
        assert "shape=(3,)" in repr(x)
    assert repr(x) == "tensor([0., 1., 2.])"
