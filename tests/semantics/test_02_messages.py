"""Section 2: the message catalogue. torch's text is the first line; below it claygrad names lines of the user's own code.

In the programs here a comment marks the line that must be named.
"""

from __future__ import annotations

import pytest

from tests.support import is_torch, leaf, raises, same_text, warns
from tests.support.messages import (
    CGRAPH,
    IMPLICIT,
    LEAF,
    NONLEAFGRAD,
    NOREQ,
    OVERLAP1,
    OVERLAP2,
    SAVED,
    TWICE,
    VIEWLEAF,
    bad_gradient,
    multiview,
    shape_mismatch,
    unused,
)


def _names(lib, text, *marks):
    """A context that checks the first line in both libraries, and in claygrad that the marked lines are named below it."""
    return _Naming(lib, text, marks)


class _Naming:
    def __init__(self, lib, text, marks):
        self.lib, self.text, self.marks = lib, text, marks

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        assert kind is RuntimeError, f"expected RuntimeError, got {kind}: {error}"
        assert same_text(self.lib, str(error), self.text), error
        if not is_torch(self.lib):
            below = str(error).splitlines()[1:]
            for mark in self.marks:
                named = [line for line in below if mark in line]
                assert named, f"nothing below names the line of {mark!r}:\n{error}"
                assert "test_02_messages.py:" in named[0]
        return True


def test_a_leaf_written_in_place_names_the_line_that_made_it(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)  # the leaf
    with _names(lib, LEAF, "# the leaf"):
        x.add_(1)
    with _names(lib, VIEWLEAF, "# the leaf"):
        x[0] = 1.0


@pytest.mark.parametrize("depth", [0, 3])
def test_backward_from_a_detached_tensor_names_the_line_that_cut_it(lib, depth):
    x = leaf(lib, [1.0, 2.0])
    y = (x * 2).detach()  # cut here
    for _ in range(depth):
        y = y * 3 + 1
    with _names(lib, NOREQ, "# cut here"):
        y.sum().backward()


def test_backward_from_data_names_the_line_that_cut_it(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x.data  # cut here
    with _names(lib, NOREQ, "# cut here"):
        (y * 2).sum().backward()


def test_backward_from_what_was_made_under_no_grad_names_that_line(lib):
    x = leaf(lib, [1.0, 2.0])
    with lib.no_grad():
        y = x * 2  # cut here
    with _names(lib, NOREQ, "# cut here"):
        (y + 1).sum().backward()


def test_a_second_backward_names_the_first(lib):
    x = leaf(lib, [1.0, 2.0])
    loss = (x * x).sum()  # recorded
    loss.backward()  # the first
    with _names(lib, TWICE, "# the first", "# recorded"):
        loss.backward()


def test_shapes_that_do_not_fit_name_the_lines_that_made_them(lib):
    a = lib.ones(2)  # two
    b = lib.ones(3)  # three
    text = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    with _names(lib, text, "# two", "# three"):
        a + b


def test_devices_that_do_not_fit_name_the_lines_that_made_them(lib):
    a = lib.ones(2)  # here
    b = lib.ones(2, device="meta")  # elsewhere
    with _names(lib, "Tensor on device meta is not on the expected device cpu!", "# here", "# elsewhere"):
        a + b


def test_backward_without_a_gradient_names_the_line_of_the_output(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 2  # the output
    with _names(lib, IMPLICIT, "# the output"):
        y.backward()


def test_a_gradient_of_the_wrong_shape_names_the_line_of_the_output(lib):
    x = leaf(lib, [1.0, 2.0])
    y = x * 2  # the output
    with _names(lib, shape_mismatch([3], [2]), "# the output"):
        y.backward(lib.ones(3))


def test_a_custom_function_that_returns_wrong_gradients_names_where_it_was_applied(lib):
    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return results.pop()

    x = leaf(lib, [1.0, 2.0, 3.0])
    results = [lib.ones(5)]
    y = Wrong.apply(x)  # applied
    with _names(lib, bad_gradient("WrongBackward", [5], [3]), "# applied"):
        y.sum().backward()
    results = [(lib.ones(3), lib.ones(3))]
    y = Wrong.apply(x)  # applied again
    text = "function WrongBackward returned an incorrect number of gradients (expected 1, got 2)"
    with _names(lib, text, "# applied again"):
        y.sum().backward()


def test_the_lines_named_are_the_users_and_not_those_of_a_helper_inside_the_library(lib):
    x = leaf(lib, [[1.0, 2.0]])
    y = lib.nn.functional.linear(x, lib.ones(3, 2), lib.ones(3)).detach()  # through a composite
    with _names(lib, NOREQ, "# through a composite"):
        y.sum().backward()


def test_an_unused_input_is_named_by_its_index(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    with raises(lib, RuntimeError, unused(1)):
        lib.autograd.grad(x * 1, [x, u])


def test_the_remaining_texts(lib):
    y = leaf(lib, [1.0, 2.0]) * 1
    with raises(lib, RuntimeError, multiview("Split")):
        y.split(1)[0].add_(1)
    with raises(lib, RuntimeError, multiview("Unbind", 1)):
        y.unbind()[1].add_(1)
    with raises(lib, RuntimeError, OVERLAP1):
        lib.ones(1).expand(3).add_(1)
    with raises(lib, RuntimeError, OVERLAP2):
        c = lib.ones(3)
        c[1:].add_(c[:-1])
    with warns(lib, NONLEAFGRAD):
        y.grad
    if is_torch(lib):  # claygrad has no such error, and warns once per process
        with warns(lib, CGRAPH):
            (leaf(lib, 1.0) * 1).backward(create_graph=True)
        z = y.exp()
        z.add_(1)
        with raises(lib, RuntimeError, SAVED):
            z.sum().backward()
