from claygrad.core.data.layout cimport Layout
from claygrad.core.graph.node cimport Node
from claygrad.core.tensor cimport Tensor

cdef int check_writable(Tensor t, bint recording) except -1      # torch's errors, before anything changes
cdef int check_inference(Tensor t) except -1                  # the first half of it, for tensors with `inference`
cdef int check_history(Tensor t, bint recording) except -1     # the second half
cdef int rebase(Tensor t, Node node) except -1                   # t (and its base) become outputs of node
cdef int write_layout(Layout dst, Layout src) except -1          # copy with broadcasting and cast; no checks, no counters
cdef int begin_write(Tensor t) except -1                         # protects saved values and counts the write
cdef bint overlaps(Tensor x, Tensor t, bint fully_too)
