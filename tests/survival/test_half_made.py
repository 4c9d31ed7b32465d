"""Objects that no C code has filled: Python cannot make one of an internal class, and what it can make is whole."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.support import fresh


def _internal(lib):
    """An instance of each class that only claygrad makes."""
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    z = y.clone()
    z[0] = 3

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            F.ctx = ctx
            return a * 1

    F.apply(x)
    return [y.grad_fn, y.grad_fn.next_functions[0][0], z.grad_fn, F.ctx, x.detach().numpy().base, lib.float32, lib.add,
            lib.zeros]


def test_internal_classes_cannot_be_instantiated(lib):
    for thing in _internal(lib):
        kind = type(thing)
        for make in (kind, lambda k=kind: k.__new__(k), lambda k=kind: object.__new__(k), lambda k=kind: k.__new__(k, 1)):
            with pytest.raises(TypeError):
                make()
        for base in kind.__mro__[1:-1]:
            with pytest.raises(TypeError):
                base.__new__(kind)


def test_classes_derived_from_internal_ones_cannot_be_instantiated(lib):
    for base in map(type, _internal(lib)):
        try:
            derived = type("Derived", (base,), {})
            forced = type("Forced", (base,), {"__new__": lambda cls, base=base: base.__new__(cls)})
        except TypeError:
            continue  # a final class
        for kind in (derived, forced):
            with pytest.raises(TypeError):
                kind()


def test_internal_objects_are_not_copied_or_pickled_field_by_field(lib):
    x = lib.ones(2, requires_grad=True)
    for thing in ((x * 2).grad_fn, (x * 2).grad_fn.next_functions[0][0], x.detach().numpy().base):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises((TypeError, pickle.PicklingError)):
                pickle.dumps(thing, protocol)
        for make in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                make(thing)
        assert not hasattr(thing, "__setstate_cython__")
        assert not hasattr(thing, "__reduce_cython__")


def test_no_extension_class_has_the_pickling_of_cython(lib):
    import sys

    for module in [m for name, m in sys.modules.items() if name.startswith("claygrad")]:
        for value in vars(module).values():
            assert not (isinstance(value, type) and hasattr(value, "__setstate_cython__")), value


def test_storages_and_generators_are_pickled_with_what_they_hold(lib):
    storage = lib.UntypedStorage([1, 2, 3])
    twin = pickle.loads(pickle.dumps(storage))
    twin[0] = 9
    assert (storage.tolist(), twin.tolist()) == ([1, 2, 3], [9, 2, 3])
    generator = lib.Generator().manual_seed(3)
    assert pickle.loads(pickle.dumps(generator)).initial_seed() == 3
    with pytest.raises((TypeError, RuntimeError)):
        generator.__setstate__(b"short")
    with pytest.raises(TypeError):
        generator.__setstate__(None)


def test_the_collector_leaves_a_tensor_its_storage(lib):
    fresh(
        lib,
        """
        met = []
        class Late:                              # dies while the collector breaks the cycle
            __slots__ = ("t",)
            def __del__(self):
                met.append((self.t.shape, (self.t + 1).tolist(), self.t.requires_grad, repr(self.t)))
        for _ in range(50):
            x = torch.ones(2, requires_grad=True)
            y = x * 2
            y.me, x.y, y.late = y, y, Late()
            y.late.t = y
            x.register_hook(lambda g, x=x: g)
            y.grad_fn.metadata["y"] = y
            del x, y
        gc.collect()
        assert len(met) == 50, len(met)
        """,
    )


def test_an_export_in_a_cycle_counts_once(lib):
    fresh(
        lib,
        """
        for _ in range(1000):
            x = torch.ones(3)
            ring = [x.numpy().base]
            ring.append(ring)
            del ring
            gc.collect() if _ % 100 == 0 else None
        gc.collect()
        assert x.untyped_storage().resize_(100).nbytes() == 100        # nobody shares it any more
        """,
    )
