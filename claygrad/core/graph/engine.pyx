"""The entry of backward: its roots, its arguments and its results.

Several backward passes may run at a time, nested (a hook or a custom Function calls backward) or in several threads.
"""
from claygrad.core.graph.reentrant import carry
from claygrad.core.graph.modes import get_saved_hooks, set_saved_hooks
from claygrad.core.graph.observe import get_thread, set_thread
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libcpp.queue cimport priority_queue
from libcpp.vector cimport vector

from claygrad.core.graph.reentrant cimport deeper, in_new_thread, shallower, too_deep
from claygrad.core.graph.accumulate cimport not_required, seed_of
from claygrad.core.graph.hooks cimport own
from claygrad.core.graph.modes cimport modes
from claygrad.core.graph.node cimport Node, expose
from claygrad.core.overrides cimport begin_backward, end_backward
from claygrad.core.graph.provenance cimport here, where_text
from claygrad.core.graph.backward_pass cimport Ready, Run
from claygrad.core.tensor cimport Tensor, gradient_edge, requires, verbs

cdef extern from *:
    """
    static thread_local PyObject* clay_current_run = nullptr;
    static inline PyObject* clay_get_run(void) { return clay_current_run; }
    static inline void clay_set_run(PyObject* run) { clay_current_run = run; }
    """
    PyObject* clay_get_run()
    void clay_set_run(PyObject* run)

cdef int64_t _runs = 0
cdef int64_t _active = 0


cdef object _edge_of(object x, int k, int* nr, bint root):
    """Node and output number of a tensor or of a gradient edge."""
    if isinstance(x, Tensor):
        node = gradient_edge(<Tensor>x, nr)
        if node is None:
            if root:
                raise not_required(<Tensor>x, k)
            if not requires(<Tensor>x):
                raise RuntimeError(f"One of the differentiated Tensors does not require grad\n  it is number {k} of the inputs"
                                   f"{where_text('it was made', (<Tensor>x).code, (<Tensor>x).lasti)}\n  call requires_grad_() on it "
                                   "before the graph is built, or leave it out of the inputs")
        return node                                # None: a view from before its base required grad, which is in no graph
    nr[0] = x[1]
    return x[0]


cdef str _origin(object x):
    if not isinstance(x, Tensor):
        return ""
    if (<Tensor>x).node is not None:
        return where_text("it was made", (<Tensor>x).node.code, (<Tensor>x).node.lasti)
    return where_text("it was made", (<Tensor>x).code, (<Tensor>x).lasti)


def run_backward(tuple roots, list seeds, bint retain_graph, bint create_graph, object inputs=None,
                 bint allow_unused=True, bint accumulate=True):
    """Run backward from roots with these gradients. The list is emptied, so that this function keeps no reference to them.

    Without inputs every leaf accumulates. With inputs, the gradients of just those are returned (accumulate=False) or
    accumulated (True: leaves; a computed tensor keeps its own from then on, and its node runs).
    """
    cdef Run run
    cdef int i
    if too_deep():
        return in_new_thread(run_backward, (roots, seeds, retain_graph, create_graph, inputs, allow_unused, accumulate))
    run = Run.__new__(Run)
    run.retain = retain_graph
    run.create_graph = create_graph
    run.accumulate = accumulate or inputs is None
    _run_from(run, roots, seeds, inputs, accumulate)
    if inputs is None:
        return None
    if accumulate:
        return None
    for i in range(len(inputs)):
        if run.results[i] is not None:
            own(run.results, i)
        elif not allow_unused:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                               f"allow_unused=True if this is the desired behavior.{_origin(inputs[i])}\n  use it to compute the "
                               "outputs, leave it out of the inputs, or pass allow_unused=True to get None for it")
    return tuple(run.results)


cdef int _run_from(Run run, tuple roots, list seeds, object inputs, bint accumulate) except -1:
    cdef Tensor seed
    cdef int i, nr = 0
    cdef int64_t t
    cdef Node node
    cdef list nodes = [], numbers = [], targets = []
    cdef PyObject* outer = clay_get_run()
    cdef bint was = modes().no_grad
    cdef int quiet
    for i in range(len(roots)):
        nodes.append(_edge_of(roots[i], i, &nr, True))
        numbers.append(nr)
    if inputs is not None and accumulate:
        for x in inputs:
            if isinstance(x, Tensor):
                x.retain_grad()                    # nothing to do for a leaf
    quiet = _begin(run)
    try:
        run.discover(nodes)
        if inputs is not None:
            run.captures = {}
            run.results = [None] * len(inputs)
            for i in range(len(inputs)):
                node = _edge_of(inputs[i], i, &nr, False)
                t = -1 if node is None else run.place(node)
                if t < 0:
                    continue
                targets.append(t)
                if not accumulate:
                    run.captures.setdefault(t, []).append((nr, i))
            run.restrict(targets)
        for i in range(len(nodes)):
            node = nodes[i]
            run.tasks[run.place(node)].waiting += 1
        for i in range(len(nodes)):
            node = nodes[i]
            seed = <Tensor>seeds[i]
            if seed.layout.storage.where is not node.device_of(numbers[i]) and seed.device != node.device_of(numbers[i]):
                raise RuntimeError(f"invalid gradient at index {i} - expected device {node.device_of(numbers[i])} but got "
                                   f"{seed.layout.storage.where}")
            seeds[i] = None
            run.send(run.place(node), numbers[i], seed)
            seed = None
        if len(nodes) == 1 and not run.tasks[run.place(nodes[0])].needed:
            run.tell(run.place(nodes[0]))
        for i in range(len(nodes)):
            run.come(run.place(nodes[i]))
        run.loop()
        run.empty()
    finally:
        _end(outer, was, quiet)
    return 0


cdef int _begin(Run run) except -1:
    global _runs, _active
    run.code = here(&run.lasti)
    _runs += 1
    run.id = _runs
    run.now = -1
    run.alone = _active == 0
    _active += 1
    modes().no_grad = not run.create_graph
    deeper()
    clay_set_run(<PyObject*>run)
    return begin_backward()


cdef void _end(PyObject* outer, bint was, int quiet) noexcept:
    global _active
    end_backward(quiet)
    modes().no_grad = was
    _active -= 1
    shallower()
    clay_set_run(outer)


def one_like(Tensor t):
    """The gradient that a scalar root starts from; refused for anything else."""
    return seed_of(t)


cdef Run _spare = None


cdef int _from_one(Tensor root, bint retain_graph) except -1:
    """backward() of a scalar, as most programs call it."""
    global _spare
    cdef int nr = 0
    cdef Node node = gradient_edge(root, &nr)
    cdef Run run
    cdef Tensor seed
    cdef bint was = modes().no_grad
    cdef int quiet
    cdef PyObject* outer = clay_get_run()
    cdef int64_t t
    if node is None:
        raise not_required(root, 0)
    seed = seed_of(root)
    if too_deep():
        in_new_thread(run_backward, ((root,), [seed], retain_graph, False))
        return 0
    run, _spare = _spare, None                    # reuse the memory of the last run
    if run is None:
        run = Run.__new__(Run)
    run.retain = retain_graph
    run.accumulate = True
    quiet = _begin(run)
    try:
        run.discover_from(node)
        t = run.place(node)
        run.tasks[t].waiting += 1
        run.send(t, nr, seed)
        seed = None
        run.come(t)
        run.loop()
    finally:
        _end(outer, was, quiet)
    run.empty()
    if run.task_index.empty() and run.tasks.capacity() < 4096:
        _spare = run
    return 0


verbs().backward = _from_one
carry(get_saved_hooks, set_saved_hooks)
carry(get_thread, set_thread)


def current_run():
    """The number of the innermost backward of this thread, or -1."""
    return -1 if clay_get_run() == NULL else (<Run>clay_get_run()).id


def queue_callback(callback):
    """Call it when the innermost backward of this thread has run all its nodes."""
    if clay_get_run() == NULL:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    cdef Run run = <Run>clay_get_run()
    if run.callbacks is None:
        run.callbacks = []
    run.callbacks.append(callback)


def run_has_inputs():
    """Whether the innermost backward of this thread was asked for the gradients of some tensors only."""
    return clay_get_run() != NULL and (<Run>clay_get_run()).results is not None


def will_run(Node node):
    """Whether the running backward executes this node."""
    if clay_get_run() == NULL:
        return False
    cdef int64_t t = (<Run>clay_get_run()).place(node)
    return t >= 0 and (<Run>clay_get_run()).tasks[t].needed


def current_node():
    """The node that the innermost backward of this thread is running, or None."""
    if clay_get_run() == NULL or (<Run>clay_get_run()).now < 0:
        return None
    cdef Run run = <Run>clay_get_run()
    return expose(<Node>run.tasks[run.now].node)


def run_returns():
    """Whether the innermost backward of this thread returns gradients instead of accumulating them into leaves."""
    return clay_get_run() != NULL and not (<Run>clay_get_run()).accumulate


def run_keeps_graph():
    """Whether the innermost backward of this thread has retain_graph; True outside of backward."""
    return clay_get_run() == NULL or (<Run>clay_get_run()).retain


def execution_order():
    """The nodes that the innermost backward of this thread runs, from the first to the last."""
    cdef vector[int64_t] edges_to                  # from nodes that run
    cdef priority_queue[Ready] waiting
    cdef Node node, following
    cdef int64_t t, k
    cdef int i
    cdef list order = []
    if clay_get_run() == NULL:
        return order
    cdef Run run = <Run>clay_get_run()
    edges_to.resize(run.tasks.size())
    for t in range(<int64_t>run.tasks.size()):
        node = <Node>run.tasks[t].node
        for i in range(node.n_edges if run.tasks[t].needed else 0):
            if node.edge(i) is not None:
                edges_to[run.place(node.edge(i))] += 1
    for t in range(<int64_t>run.tasks.size()):
        if not edges_to[t] and run.tasks[t].needed:
            waiting.push(Ready((<Node>run.tasks[t].node).seq, t))
    while not waiting.empty():
        node = <Node>run.tasks[waiting.top().second].node
        waiting.pop()
        order.append(expose(node))
        for i in range(node.n_edges):
            following = node.edge(i)
            k = -1 if following is None else run.place(following)
            if k < 0:
                continue
            edges_to[k] -= 1
            if edges_to[k] == 0 and run.tasks[k].needed:
                waiting.push(Ready(following.seq, k))
    return order
