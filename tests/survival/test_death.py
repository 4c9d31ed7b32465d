"""How objects die: destructors and callbacks that collect, resurrect and read, and chains as long as memory."""

from __future__ import annotations

import pytest

from tests.support import fresh

SMALL = """
import threading
def on_a_small_stack(work):
    failures = []
    def run():
        try:
            work()
        except BaseException as error:
            failures.append(error)
    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failures, failures
"""

OWNERS = {
    "tensor": "torch.ones(3)",
    "result": "torch.ones(3, requires_grad=True) * 2",
    "subclass": "S([1.0, 2.0])",
    "subclass with slots": "Slotted([1.0, 2.0])",
    "parameter": "torch.nn.Parameter(torch.ones(3))",
    "view": "torch.ones(3)[1:]",
    "module": "torch.nn.Linear(2, 2)",
}

CLASSES = """
class S(torch.Tensor):
    pass
class Slotted(torch.Tensor):
    __slots__ = ("extra",)
class Collects:
    def __del__(self):
        [[] for _ in range(2000)]
        gc.collect(0)
gc.set_threshold(50)
"""


@pytest.mark.parametrize("owner", OWNERS)
def test_a_destructor_among_the_attributes_may_collect(lib, owner):
    fresh(lib, CLASSES + f"""
for _ in range(300):
    x = {OWNERS[owner]}
    x.attr = Collects()
    x.me = [Collects()]
    del x
""")


@pytest.mark.parametrize("owner", OWNERS)
def test_callbacks_and_finalizers_run_once_and_see_nothing(lib, owner):
    fresh(lib, "import weakref\n" + CLASSES + f"""
seen = []
for _ in range(100):
    x = {OWNERS[owner]}
    x.attr = Collects()
    r = weakref.ref(x, lambda r: (seen.append(r()), gc.collect(0)))
    f = weakref.finalize(x, lambda: seen.append(None))
    x.attr.late = r
    del x
    assert r() is None and not f.alive
assert seen == [None] * 200, seen[:3]
""")


def test_a_subclass_may_resurrect_itself(lib):
    fresh(lib, """
    kept = []
    class Back(torch.Tensor):
        def __del__(self):
            kept.append(self)
            gc.collect(0)
    for _ in range(100):
        x = Back([1.0, 2.0])
        x.attr = [x.shape]
        del x
    assert len(kept) == 100
    for x in list(kept):                    # what is computed of them is of their class, and comes back too
        assert (x + 1).tolist() == [2.0, 3.0] and x.attr == [(2,)], x
    kept.clear()
    gc.collect()
    """)


def test_a_weak_reference_to_a_dying_node_gives_nothing(lib):
    fresh(lib, """
    import weakref
    class Watch:
        def __del__(self):
            seen.append(self.ref())
            [object() for _ in range(1000)]
    seen = []
    for _ in range(300):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        node = y.grad_fn
        w = Watch()
        w.ref = weakref.ref(node)
        node.metadata["watch"] = w
        node.register_hook(lambda i, o, w=w: None)
        leaf = node.next_functions[0][0]
        called = []
        keep = weakref.ref(leaf, lambda r: called.append((x * 3).grad_fn.next_functions[0][0].variable is x))
        del w, node, y, leaf
        assert called == [True]          # a new node for the leaf, not the dying one
    assert seen == [None] * 300
    """)


def test_storages_die_with_weak_references_to_them(lib):
    fresh(lib, """
    import weakref
    for _ in range(300):
        x = torch.from_numpy(torch.ones(3).numpy())
        seen = []
        r = weakref.ref(x.untyped_storage(), lambda r: seen.append(r()))
        del x
        assert seen == [None]
    """)


CHAINS = {
    "arrays": "x = torch.from_numpy(x.numpy())",
    "dlpack": "x = torch.from_dlpack(x)",
    "slices of storages": "s = s[0:8]",
    "grad": "y = torch.ones(1); y.grad = x; x = y",
    "attributes": "y = torch.ones(1); y.b = x; x = y",
    "attributes of a subclass": "y = S([1.0]); y.b = x; x = y",
    "data": "y = x.data; y.b = x; x = y",
    "hooks": "y = torch.ones(1, requires_grad=True); y.register_hook(lambda g, x=x: g); x = y",
    "views": "y = torch.ones(2)[1:]; y._base.b = x; x = y",
    "leaves": "y = torch.ones(1, requires_grad=True); y.node = (y * 2).grad_fn.next_functions[0][0]; y.b = x; x = y",
    "metadata of nodes": "y = torch.ones(1, requires_grad=True) * 2; y.grad_fn.metadata['x'] = x; x = y",
    "results in grad": "y = torch.ones(1, requires_grad=True) * 2; y.retain_grad(); y.grad = x.detach(); y.b = x; x = y",
    "contexts": "x = Holds.apply(torch.ones(1, requires_grad=True), x)",
    "saved in contexts": "x = Saves.apply(torch.ones(1, requires_grad=True), x)",
    "lists": "y = torch.ones(1); y.b = [x]; x = y",
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_long_chain_is_freed_on_a_small_stack(lib, name):
    length = 20_000 if name in ("contexts", "saved in contexts", "dlpack") else 100_000
    fresh(lib, SMALL + f"""
class S(torch.Tensor):
    pass
class Holds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, held):
        ctx.held = held
        return a * 1
class Saves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, held):
        ctx.save_for_backward(held)
        return a * 1
def work():
    x = torch.ones(1)
    s = torch.ones(2).untyped_storage()
    for _ in range({length}):
        {CHAINS[name]}
    del x, s
    gc.collect()
on_a_small_stack(work)
""")


def test_a_chain_of_packed_graphs_is_freed_on_a_small_stack(lib):
    fresh(lib, SMALL + """
def work():
    held = [torch.ones(1, requires_grad=True) * 2]
    def pack(t):
        return (t.detach(), held[0])             # each saved value keeps the graph before it
    for _ in range(50_000):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda p: p[0]):
            held[0] = torch.ones(1, requires_grad=True).exp()
    held.clear()
    gc.collect()
on_a_small_stack(work)
""")


def test_a_thread_held_up_in_a_destructor_does_not_hold_up_others(lib):
    fresh(lib, """
    import threading, weakref
    entered, go = threading.Event(), threading.Event()
    class Waits:
        def __del__(self):
            entered.set()
            go.wait(60)
    def first():
        y = torch.ones(2, requires_grad=True) * 2
        y.grad_fn.register_hook(lambda i, o, w=Waits(): None)
        del y
    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(60)
    gone = []
    for _ in range(10):
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).exp() * 3
        weakref.finalize(y.grad_fn.next_functions[0][0], gone.append, 1)
        del x, y
    assert len(gone) == 10
    go.set()
    thread.join()
    """)
