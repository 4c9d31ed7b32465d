from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libcpp.pair cimport pair
from libcpp.queue cimport priority_queue
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef struct Task:
    PyObject* node             # borrowed: the roots keep the graph alive
    PyObject* grad             # owned: a Tensor, or a list for nodes with several outputs
    int64_t waiting            # gradients still to come
    bint needed                # on a path to one of `inputs`

ctypedef pair[int64_t, int64_t] Ready     # (sequence number, task)

cdef class Run:
    cdef int64_t id
    cdef bint alone             # no other backward is running: a node itself stores the index of its task
    cdef bint retain, create_graph, accumulate
    cdef int64_t now            # the task that is running, or -1
    cdef vector[Task] tasks
    cdef unordered_map[size_t, int64_t] task_index     # by node, if other backwards are running
    cdef priority_queue[Ready] ready
    cdef dict captures          # task -> [(output number, position in inputs)]
    cdef list results
    cdef list callbacks         # called at the end, or None
    cdef object code
    cdef int lasti

    cdef void empty(self) noexcept
    cdef int64_t place(self, Node node) noexcept
    cdef int64_t add(self, Node node)
    cdef int discover(self, list roots) except -1
    cdef int discover_from(self, Node root) except -1
    cdef int restrict(self, list targets) except -1
    cdef int send(self, int64_t t, int nr, Tensor grad) except -1
    cdef object total(self, PyObject* so_far, Tensor grad)
    cdef int come(self, int64_t t) except -1
    cdef int tell(self, int64_t t) except -1
    cdef int loop(self) except -1
    cdef int execute(self, int64_t t) except -1
    cdef int execute_any(self, int64_t t, Node node, PyObject* owned) except -1
    cdef list compute(self, Node node, list grads)
    cdef list observe(self, Node node, list grads)
    cdef int observe_leaf(self, Node node, Tensor g) except -1
    cdef void free(self, Node node)
    cdef int observe_default(self, Node node, Tensor g, unsigned long long skip, PyObject** out) except -1
    cdef int execute_default(self, Node node, PyObject* owned, unsigned long long skip, bint observed) except -1
    cdef bint leads_on(self, Node node)
    cdef unsigned long long skips(self, Node node)
    cdef int pass_on(self, int64_t t, Node node, list out) except -1
