"""`autograd.graph`: nodes and edges, what they save, and hooks on several tensors."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.support import close, is_torch, leaf, raises, silent

# --- nodes and edges -------------------------------------------------------------------------------------------------


def test_every_node_is_a_node(lib):
    x = leaf(lib, [1.0, 2.0])
    y = (x * 2).exp().sum()
    node = y.grad_fn
    while node is not None:
        assert isinstance(node, lib.autograd.graph.Node)
        node = node.next_functions[0][0] if node.next_functions else None
    assert not isinstance(x, lib.autograd.graph.Node)


def test_a_gradient_edge_is_a_node_and_the_number_of_its_output(lib):
    x = leaf(lib, [[1.0, 2.0]])
    y = x * 2
    edge = lib.autograd.graph.get_gradient_edge(y)
    assert isinstance(edge, lib.autograd.graph.GradientEdge)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    _, second = x.max(1)[0], x.unbind(1)[1]
    assert lib.autograd.graph.get_gradient_edge(second).output_nr == 1
    assert edge[:2] == (edge.node, 0)


def test_the_edge_of_a_leaf_is_its_accumulator(lib):
    x = leaf(lib, [1.0])
    edge = lib.autograd.graph.get_gradient_edge(x)
    assert edge.node.name() == "torch::autograd::AccumulateGrad"
    assert edge.node.variable is x
    assert edge.node is (x * 2).grad_fn.next_functions[0][0]


def test_there_is_no_edge_to_a_constant(lib):
    text = "It is not possible to get the gradient edge for a Tensor that does not require gradients"
    with raises(lib, RuntimeError, text):
        lib.autograd.graph.get_gradient_edge(lib.ones(1))


def test_an_edge_keeps_the_graph_and_not_the_tensor(lib):
    x = leaf(lib, [3.0])
    y = x * x
    gone = weakref.ref(y)
    edge = lib.autograd.graph.get_gradient_edge(y)
    del y
    gc.collect()
    assert gone() is None
    (g,) = lib.autograd.grad(edge, x)
    assert close(g, [6.0])


def test_increment_version_counts_a_write_it_did_not_see(lib):
    increment = lib.autograd.graph.increment_version
    x, y = leaf(lib, [1.0]), lib.ones(2)
    increment(x)
    assert x._version == 1
    increment([x, y, y])
    assert (x._version, y._version) == (2, 2)
    with raises(lib, RuntimeError, "increment_version expect a Iterable[Tensor] as input"):
        increment(1)
    with raises(lib, RuntimeError, "increment_version expects each element of the iterable to be a tensor"):
        increment([1])


# --- saved tensors ---------------------------------------------------------------------------------------------------


def test_saved_values_pass_through_pack_and_unpack(lib):
    x = leaf(lib, [1.0, 2.0])
    log = []

    def pack(t):
        log.append(("pack", t.tolist()))
        return t.tolist()

    def unpack(values):
        log.append(("unpack", values))
        return lib.tensor(values)

    with lib.autograd.graph.saved_tensors_hooks(pack, unpack) as value:
        y = x.exp()
    assert value is None
    (e,) = log
    assert e[0] == "pack"
    y.sum().backward()
    assert log[1] == ("unpack", e[1])
    assert close(x.grad, e[1])


def test_hooks_may_change_what_backward_sees(lib):
    x = leaf(lib, [1.0, 2.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = x * x
    y.sum().backward()
    assert close(x.grad, [20.0, 40.0])


def test_a_value_saved_twice_is_packed_twice(lib):
    x = leaf(lib, [1.0])
    packed = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        x * x
    assert len(packed) == 2


def test_nothing_is_packed_where_nothing_is_saved_or_recorded(lib):
    x = leaf(lib, [1.0])
    packed = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        x + 1
        lib.ones(1) * lib.ones(1)
        with lib.no_grad():
            x * x
    assert packed == []


def test_the_innermost_hooks_are_used_and_the_outer_ones_come_back(lib):
    x = leaf(lib, [1.0])
    log = []
    hooks = lib.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: log.append("outer") or t, lambda t: t):
        with hooks(lambda t: log.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert log == ["inner", "outer"]


def test_hooks_are_dropped_when_the_block_fails(lib):
    x = leaf(lib, [1.0])
    packed = []
    with pytest.raises(KeyError), lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t), lambda t: t):
        raise KeyError
    x.exp()
    assert packed == []


def test_values_are_unpacked_once_per_backward(lib):
    x = leaf(lib, [2.0])
    unpacked = []
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: unpacked.append(1) or t):
        y = x.exp()
    y.backward(retain_graph=True)
    y.backward()
    assert len(unpacked) == 2


def test_a_saved_value_read_from_the_node_is_unpacked(lib):
    x = leaf(lib, [0.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: 7.0, lambda v: lib.tensor([v])):
        y = x.exp()
    assert close(y.grad_fn._saved_result, [7.0])


def test_a_custom_function_saves_through_the_hooks_too(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = leaf(lib, [3.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t.detach() + 1, lambda t: t):
        y = Square.apply(x)
    y.backward()
    assert close(x.grad, [8.0])


def test_hooks_serve_a_second_derivative(lib):
    x = leaf(lib, [2.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x**3
        (g,) = lib.autograd.grad(y, x, create_graph=True)
        (h,) = lib.autograd.grad(g, x)
    assert close(h, [12.0])


def test_unpack_must_give_a_tensor(lib):
    x = leaf(lib, [1.0])
    with lib.autograd.graph.saved_tensors_hooks(lambda t: 1, lambda v: v):
        y = x.exp()
    text = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"
    with raises(lib, TypeError, text):
        y.backward()


def test_pack_must_not_write_to_what_it_is_given(lib):
    x = leaf(lib, [1.0])
    text = (
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
        "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need "
        "to perform in-place operations on the input to a pack hook."
    )
    y = x * 1
    with raises(lib, RuntimeError, text), lib.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        y * y


def test_an_exception_in_a_hook_comes_out_unchanged(lib):
    x = leaf(lib, [1.0])

    def fail(_):
        raise KeyError("hook")

    with pytest.raises(KeyError, match="hook"), lib.autograd.graph.saved_tensors_hooks(fail, lambda t: t):
        x.exp()
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        y = x.exp()
    with pytest.raises(KeyError, match="hook"):
        y.backward()
    with silent():
        x.exp().backward()


def test_save_on_cpu_gives_the_same_gradients(lib):
    x = leaf(lib, [1.0, 2.0])
    for options in ({}, {"pin_memory": True}):
        x.grad = None
        with lib.autograd.graph.save_on_cpu(**options):
            y = (x * x).exp()
        y.sum().backward()
        assert close(x.grad, [2 * 2.718281828, 4 * 54.59815], rtol=1e-4)


def test_disabled_hooks_raise_the_message_given(lib):
    graph = lib.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def use():
        with hooks:
            pass

    with graph.disable_saved_tensors_hooks("outer message"):
        with raises(lib, RuntimeError, "outer message"):
            use()
        with graph.disable_saved_tensors_hooks("inner message"), raises(lib, RuntimeError, "inner message"):
            use()
        with raises(lib, RuntimeError, "outer message"):
            use()
    use()


def test_hooks_cannot_be_disabled_while_they_are_in_use(lib):
    graph = lib.autograd.graph
    x = leaf(lib, [1.0])
    packed = []
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        with raises(lib, RuntimeError, "not now"), graph.disable_saved_tensors_hooks("not now"):
            pass
        x.exp()
    assert len(packed) == 1


def test_mutation_on_saved_tensors_may_be_allowed_by_name(lib):
    x = leaf(lib, [1.0, 2.0])
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.add_(1)
        z.sum().backward()
    assert close(x.grad, [2.0, 4.0])


# --- hooks on several tensors ----------------------------------------------------------------------------------------


def test_a_multi_hook_gets_all_gradients_once_in_order(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, u), lambda grads: seen.append([g.tolist() for g in grads]))
    (x * u * 3).backward()
    assert seen == [[[6.0], [3.0]]]
    (x * u).backward()
    assert seen[1] == [[2.0], [1.0]]


def test_a_multi_hook_gets_none_for_what_took_no_part(lib):
    x, u, w = leaf(lib, [1.0]), leaf(lib, [2.0]), leaf(lib, [3.0])
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, u, w), seen.append)
    (x * w).backward()
    ((gx, gu, gw),) = seen
    assert close(gx, [3.0])
    assert gu is None
    assert close(gw, [1.0])


def test_a_multi_hook_works_on_non_leaves_and_in_autograd_grad(lib):
    x = leaf(lib, [1.0])
    y = x * 2
    w = y * 3
    z = w * 4
    seen = []
    lib.autograd.graph.register_multi_grad_hook((y, w), lambda grads: seen.append([g.tolist() for g in grads]))
    lib.autograd.grad(z, x, retain_graph=True)
    assert seen == [[[12.0], [4.0]]]
    lib.autograd.grad(z, y)
    assert seen[1] == [[12.0], [4.0]]


def test_a_multi_hook_counts_the_root_and_the_inputs_of_autograd_grad(lib):
    if is_torch(lib):  # forgets the root, and cannot tell about leaves inside autograd.grad
        return
    x = leaf(lib, [1.0])
    y = x * 2
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append([g.tolist() for g in grads]))
    y.backward(retain_graph=True)
    lib.autograd.grad(y, x)
    assert seen == [[[2.0], [1.0]], [[2.0], [1.0]]]


def test_a_multi_hook_in_mode_any_gets_the_first_gradient_only(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    y = x * 5
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, y, u), lambda g: seen.append(g.tolist()), mode="any")
    (y * 3).backward()
    assert seen == [[3.0]]
    (u * 7).backward()
    assert seen == [[3.0], [7.0]]


def test_mode_any_passes_over_constants_and_mode_all_refuses_them(lib):
    x, c = leaf(lib, [1.0]), lib.ones(1)
    register = lib.autograd.graph.register_multi_grad_hook
    seen = []
    register((c, x), seen.append, mode="any")
    (x * 2).backward()
    assert len(seen) == 1
    with raises(lib, AssertionError, "Expected gradient function to be set"):
        register((x, c), seen.append)


def test_a_multi_hook_can_be_removed(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    seen = []
    for mode in ("all", "any"):
        handle = lib.autograd.graph.register_multi_grad_hook((x, u), seen.append, mode=mode)
        handle.remove()
        with lib.autograd.graph.register_multi_grad_hook((x, u), seen.append, mode=mode):
            pass
    (x * u).backward()
    assert seen == []


def test_a_multi_hook_knows_two_modes(lib):
    with raises(lib, ValueError, "Expects mode to be one of ('all', 'any') but got some"):
        lib.autograd.graph.register_multi_grad_hook((leaf(lib, [1.0]),), print, mode="some")


def test_a_multi_hook_survives_a_backward_inside_a_backward(lib):
    x, u = leaf(lib, [1.0]), leaf(lib, [2.0])
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, u), lambda grads: seen.append([g.tolist() for g in grads]))
    inner = []

    def nested(_):
        if not inner:
            inner.append(1)
            with lib.enable_grad():
                (x * u * 100).backward()

    y = x * u
    y.register_hook(nested)
    y.backward()
    assert seen == [[[200.0], [100.0]], [[2.0], [1.0]]]


def test_claygrad_allows_mutation_without_being_asked(lib):
    if is_torch(lib):
        return
    with (
        lib.autograd.graph.allow_mutation_on_saved_tensors(),
        lib.autograd.graph.allow_mutation_on_saved_tensors() as value,
    ):
        assert value is None
