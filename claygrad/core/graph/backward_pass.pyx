"""One backward pass: runs the nodes of a graph from the roots to the leaves.

Iterative: a node is ready when all its gradients are there; of the ready nodes the one recorded last runs first.
"""
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from claygrad.core.op cimport Op
from claygrad.core.data.layout cimport SPARSE
from claygrad.core.graph.accumulate cimport accumulate as add_to_leaf
from claygrad.core.graph.accumulate cimport look_for_nan
from claygrad.core.graph.hooks cimport after_leaf, heard, is_unshared, post_hooks, pre_hooks, shown_edges, tensor_hooks
from claygrad.core.graph.modes cimport ANOMALY, WATCHED, anomaly, modes
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.observe cimport BACKWARD, LEAF, Event, begin, finish, wanted
from claygrad.core.graph.rules cimport call_rules, call_rules_into, fit
from claygrad.core.tensor cimport AccumulateGrad, Tensor, leaf_of, verbs

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)


cdef object _added(Tensor a, Tensor b):
    """The sum of two gradients. As in torch, a dense operand comes first if the other is sparse."""
    if a.layout.bits & SPARSE:
        return verbs().binary(0, b, a)
    return verbs().binary(0, a, b)


cdef class Run:
    def __dealloc__(self):
        self.empty()

    cdef void empty(self) noexcept:
        """Release all tasks and their unused gradients; the vector keeps its capacity."""
        cdef size_t i
        for i in range(self.tasks.size()):
            Py_XDECREF(self.tasks[i].grad)
            self.tasks[i].grad = NULL
        self.tasks.clear()

    cdef int64_t place(self, Node node) noexcept:
        """The task of a node, or -1."""
        if self.alone:
            return node.task if node.run == self.id else -1
        it = self.task_index.find(<size_t><PyObject*>node)
        return -1 if it == self.task_index.end() else self.task_index[<size_t><PyObject*>node]

    cdef int64_t add(self, Node node):
        cdef Task task
        task.node = <PyObject*>node
        task.grad = NULL
        task.waiting = 0
        task.needed = True
        self.tasks.push_back(task)
        if self.alone:
            node.run = self.id
            node.task = self.tasks.size() - 1
        else:
            self.task_index[<size_t><PyObject*>node] = self.tasks.size() - 1
        return self.tasks.size() - 1

    cdef int discover(self, list roots) except -1:
        """Find all reachable nodes, and count the gradients that each waits for."""
        cdef Node node
        for node in roots:
            if self.place(node) < 0:
                self.discover_from(node)
        return 0

    cdef int discover_from(self, Node root) except -1:
        cdef vector[PyObject*] stack
        cdef Node node, following
        cdef int i
        cdef int64_t t
        self.add(root)
        stack.push_back(<PyObject*>root)
        while stack.size():
            node = <Node>stack.back()
            stack.pop_back()
            for i in range(node.n_edges):
                following = node.edge(i)
                if following is None:
                    continue
                t = self.place(following)
                if t < 0:
                    t = self.add(following)
                    stack.push_back(<PyObject*>following)
                self.tasks[t].waiting += 1
        return 0

    cdef int restrict(self, list targets) except -1:
        """Mark the nodes on paths to the targets; the others do not run."""
        cdef vector[char] seen
        cdef vector[pair[int64_t, int]] stack      # a task, and its next edge
        cdef size_t i
        cdef int64_t t, k
        cdef Node node, following
        cdef int e
        for i in range(self.tasks.size()):
            self.tasks[i].needed = False
        for k in targets:
            self.tasks[k].needed = True
        seen.resize(self.tasks.size())
        for i in range(self.tasks.size()):
            if seen[i]:
                continue
            seen[i] = True
            stack.push_back(pair[int64_t, int](i, 0))
            while stack.size():
                t, e = stack.back().first, stack.back().second
                node = <Node>self.tasks[t].node
                if e == node.n_edges:              # all its edges are visited
                    stack.pop_back()
                    if stack.size() and self.tasks[t].needed:
                        self.tasks[stack.back().first].needed = True
                    continue
                stack[stack.size() - 1].second = e + 1
                following = node.edge(e)
                if following is None:
                    continue
                k = self.place(following)
                if not seen[k]:
                    seen[k] = True
                    stack.push_back(pair[int64_t, int](k, 0))
                elif self.tasks[k].needed:
                    self.tasks[t].needed = True
        return 0

    cdef int send(self, int64_t t, int nr, Tensor grad) except -1:
        """Add a gradient to those that a node has received so far."""
        cdef Task* task = &self.tasks[t]
        cdef Node node = <Node>task.node
        cdef list box
        cdef object total
        if node.n_outputs <= 1:
            if task.grad == NULL:
                Py_INCREF(grad)
                task.grad = <PyObject*>grad
            else:
                total = self.total(task.grad, grad)
                Py_INCREF(total)
                Py_DECREF(<object>task.grad)
                self.tasks[t].grad = <PyObject*>total
            return 0
        if task.grad == NULL:
            box = [None] * node.n_outputs
            Py_INCREF(box)
            task.grad = <PyObject*>box
        box = <list>task.grad
        if box[nr] is None:
            box[nr] = grad
        else:
            box[nr] = _added(<Tensor>box[nr], grad)
        return 0

    cdef object total(self, PyObject* so_far, Tensor grad):
        """The sum of two gradients, in place if the first is unshared. Tensors of another class may share values that they
        hold in a tensor of their own: those of `vmap` do."""
        cdef Tensor first = <Tensor>so_far
        if (not self.create_graph and Py_REFCNT(so_far) == 2 and type(first) is Tensor and is_unshared(first) and first.layout.contiguous
                and first.layout.dtype is grad.layout.dtype):
            return verbs().inplace(0, first, grad)
        return _added(first, grad)

    cdef int come(self, int64_t t) except -1:
        """One gradient fewer to wait for."""
        self.tasks[t].waiting -= 1
        if self.tasks[t].waiting == 0 and self.tasks[t].needed:
            self.ready.push(Ready((<Node>self.tasks[t].node).seq, t))
        return 0

    cdef int tell(self, int64_t t) except -1:
        """A single root that is not on a path to the inputs: its hooks are called nevertheless."""
        cdef Node node = <Node>self.tasks[t].node
        cdef object grad = <object>self.tasks[t].grad
        tensor_hooks(node, grad if type(grad) is list else [grad])
        return 0

    cdef int loop(self) except -1:
        cdef Ready top
        while not self.ready.empty():
            top = self.ready.top()
            self.ready.pop()
            self.now = top.second
            self.execute(top.second)
        self.now = -1
        while self.callbacks:                      # a callback may queue another
            self.callbacks.pop(0)()
        return 0

    cdef int execute(self, int64_t t) except -1:
        cdef Node node = <Node>self.tasks[t].node
        cdef PyObject* owned = self.tasks[t].grad
        cdef bint came = True
        cdef int flags = anomaly()
        cdef Tensor g
        if owned == NULL:
            if not node.always and not heard(node):     # no gradient: the next nodes wait for one fewer
                self.free(node)
                return self.pass_on(t, node, None)
            absent = [None] * (node.n_outputs or 1)
            Py_INCREF(absent)
            owned = <PyObject*>absent
            came = False
        self.tasks[t].grad = NULL
        if (came and node.hooks is None and node.n_outputs == 1 and not flags & ANOMALY
                and (self.captures is None or t not in self.captures)):
            if node.op is not None:
                if (<Op>node.op).joint is None and (<Op>node.op).list_at < 0:
                    return self.execute_default(node, owned, 0 if self.captures is None else self.skips(node), flags != 0 and wanted())
            elif self.accumulate and type(node) is AccumulateGrad and not leaf_of(node).hooks:
                g = <Tensor>owned
                Py_DECREF(<object>owned)
                if flags and wanted():
                    return self.observe_leaf(node, g)
                return add_to_leaf(<AccumulateGrad>node, g, self.create_graph)
        return self.execute_any(t, node, owned)

    cdef int execute_any(self, int64_t t, Node node, PyObject* owned) except -1:
        """The general case of execute: several outputs, hooks, captured gradients, anomaly mode, observers."""
        cdef list grads, out = None
        cdef bint runs
        cdef int i, flags
        cdef Tensor g
        if type(<object>owned) is list:
            grads = <list>owned
        else:
            grads = [<object>owned]
        Py_DECREF(<object>owned)
        if self.captures is not None and t in self.captures:
            runs = self.leads_on(node)
            if not runs:                                # as in torch: hooks change the captured gradient only if the node does not run
                tensor_hooks(node, grads)
            for nr, position in self.captures[t]:
                self.results[position] = grads[nr]
            if not runs:
                return 0
        tensor_hooks(node, grads)
        if node.hooks is not None and node.hooks.pre:
            grads = pre_hooks(node, grads)
        flags = anomaly()
        if isinstance(node, AccumulateGrad):
            if self.accumulate:
                g = <Tensor>grads[0]
                grads = None
                if flags & WATCHED and wanted():
                    self.observe_leaf(node, g)
                else:
                    add_to_leaf(<AccumulateGrad>node, g, self.create_graph)
                if node.hooks is not None and node.hooks.post:
                    after_leaf(node, g)
            return 0
        if not node.always and not any([g is not None for g in grads]):        # no gradient, or a hook returned None
            out = [None] * node.n_edges
        elif flags and flags & WATCHED and wanted():
            out = self.observe(node, grads)
        elif node.op is not None:
            out = call_rules(node, grads, self.create_graph, 0 if self.captures is None else self.skips(node))
        else:
            out = node.apply(grads, self.create_graph)
        if node.hooks is not None and node.hooks.post:
            for i in range(node.n_edges):               # post hooks see the gradients that are passed on
                if node.edge(i) is not None and isinstance(out[i], Tensor):
                    out[i] = fit(<Tensor>out[i], node, i, node.edge(i), node.edge_nr(i))
            out = post_hooks(node, out, grads)
        if flags & ANOMALY:
            look_for_nan(node, grads, out)
        self.free(node)
        grads = None
        return self.pass_on(t, node, out)

    cdef list compute(self, Node node, list grads):
        """The gradients of a node's inputs; execute has this inlined."""
        if node.op is not None:
            return call_rules(node, grads, self.create_graph, 0 if self.captures is None else self.skips(node))
        return node.apply(grads, self.create_graph)

    cdef list observe(self, Node node, list grads):
        """As compute, with observers (Note [Observers]): by the rules, which do not overwrite the incoming gradients."""
        cdef vector[PyObject*] given
        cdef Event event
        cdef list out
        for g in grads:
            given.push_back(<PyObject*>g)
        event.kind, event.what, event.args, event.n = BACKWARD, <PyObject*>node, given.data(), given.size()
        begin(&event)
        try:
            out = self.compute(node, grads)
        except:
            finish(&event, NULL)
            raise
        finish(&event, <PyObject*>out)
        return out

    cdef int observe_leaf(self, Node node, Tensor g) except -1:
        cdef PyObject* given = <PyObject*>g
        cdef Event event
        event.kind, event.what, event.args, event.n = LEAF, <PyObject*>node, &given, 1
        begin(&event)
        try:
            add_to_leaf(<AccumulateGrad>node, g, self.create_graph)
        except:
            finish(&event, NULL)
            raise
        result = leaf_of(node).grad_
        finish(&event, <PyObject*>result)
        return 0

    cdef void free(self, Node node):
        if not self.retain and node.holds:
            node.freed_code, node.freed_lasti = self.code, self.lasti
            node.free_saved()
            node.freed = True

    cdef int observe_default(self, Node node, Tensor g, unsigned long long skip, PyObject** out) except -1:
        """call_rules_into with observers. The caller holds g as well, so no rule overwrites what they look at."""
        cdef PyObject* given = <PyObject*>g
        cdef Event event
        cdef list results
        cdef int i
        event.kind, event.what, event.args, event.n = BACKWARD, <PyObject*>node, &given, 1
        begin(&event)
        try:
            call_rules_into(node, g, self.create_graph, skip, out)
        except:
            finish(&event, NULL)
            raise
        results = [None if out[i] == NULL else <object>out[i] for i in range(node.n_edges)]
        try:
            finish(&event, <PyObject*>results)
        except:
            for i in range(node.n_edges):
                Py_XDECREF(out[i])
            raise
        return 0

    cdef int execute_default(self, Node node, PyObject* owned, unsigned long long skip, bint observed) except -1:
        """The common case of execute: one output, a rule per input, no hooks."""
        cdef PyObject* out[16]
        cdef int i, n = node.n_edges
        cdef Node following
        cdef int64_t k
        cdef Tensor g = <Tensor>owned
        if observed:
            try:
                self.observe_default(node, g, skip, out)
            finally:
                Py_DECREF(<object>owned)
        else:
            Py_DECREF(<object>owned)
            call_rules_into(node, g, self.create_graph, skip, out)
        g = None
        if not self.retain and node.holds:
            node.freed_code = self.code
            node.freed_lasti = self.lasti
            node.free_saved()
            node.freed = True
        try:
            for i in range(n):
                following = node.edge(i)
                if following is None:
                    continue
                k = self.place(following)
                if out[i] != NULL:
                    if not isinstance(<object>out[i], Tensor):
                        raise RuntimeError(f"expected Variable or None (got {type(<object>out[i]).__name__})")
                    g = <Tensor>out[i]
                    Py_DECREF(<object>out[i])
                    out[i] = NULL
                    g = fit(g, node, i, following, node.edge_nr(i))
                    self.send(k, node.edge_nr(i), g)
                    g = None
                self.come(k)
        except:
            for i in range(n):
                Py_XDECREF(out[i])
            raise
        return 0

    cdef bint leads_on(self, Node node):
        """Whether a captured node must also run, because other inputs lie behind it."""
        cdef int i
        cdef Node following
        if isinstance(node, AccumulateGrad):
            return False
        for i in range(node.n_edges):
            following = node.edge(i)
            if following is not None and self.tasks[self.place(following)].needed:
                return True
        return False

    cdef unsigned long long skips(self, Node node):
        cdef int i
        cdef Node following
        cdef unsigned long long bits = 0
        for i in range(node.n_edges if node.n_edges < 63 else 63):
            following = node.edge(i)
            if following is not None and not self.tasks[self.place(following)].needed:
                bits |= 1ULL << i
        return bits

    cdef int pass_on(self, int64_t t, Node node, list out) except -1:
        cdef int i
        cdef Node following
        cdef int64_t k
        cdef object grad
        for i in range(node.n_edges):
            following = node.edge(i)
            if following is None:
                continue
            k = self.place(following)
            if out is not None and self.tasks[k].needed:
                grad = out[i]
                if grad is not None:
                    if type(grad) is not Tensor and not isinstance(grad, Tensor):
                        raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
                    out[i] = None
                    grad = fit(<Tensor>grad, node, i, following, node.edge_nr(i))
                    self.send(k, node.edge_nr(i), <Tensor>grad)
                    grad = None
            self.come(k)
        return 0


def call_node(Node node, tuple grads):
    """`grad_fn(*grads)`: the gradients of the inputs, as a tensor or a tuple."""
    cdef bint recording = not modes().no_grad
    cdef int i, n = node.n_shown()
    cdef list given = list(grads), out
    if len(grads) != n:
        raise TypeError(f"expected {n} arguments, got {len(grads)} instead")
    for i in range(n):
        if given[i] is not None and not isinstance(given[i], Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    if isinstance(node, AccumulateGrad):
        add_to_leaf(<AccumulateGrad>node, <Tensor>given[0], recording)
        return ()
    given.extend([None] * (node.n_outputs - n))
    if node.op is None:
        out = node.apply(given, recording)
    elif any([g is not None for g in given]):
        out = call_rules(node, given, recording, 0)
    else:
        out = [None] * node.n_edges
    out = shown_edges(node, out)
    return out[0] if len(out) == 1 else tuple(out)
