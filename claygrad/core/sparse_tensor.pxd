from cpython.object cimport PyObject

from claygrad.core.data.layout cimport Layout
from claygrad.core.tensor cimport Tensor, getitem_verb, setitem_verb

# Note [Sparse tensors]
# A sparse tensor is a Tensor whose layout has one of the bits COO and COMPRESSED. Its storage has no bytes and lies on a device of a
# kind of its own, which every native form refuses as it refuses meta; the owner of the storage is a `Parts`: indices and values,
# which are plain tensors outside of any graph. The history is the sparse tensor's own.
#
# Operations check for sparse arguments in the same place as for lazy ones (Note [Lazy conjugates]), so programs without sparse
# tensors pay nothing. They pass all arguments to claygrad.sparse, which has some operations and refuses the others; so do views and
# indexing. A write to a sparse tensor gives it a new layout with new parts, so saved values do not change.

cdef class Parts:
    cdef readonly object layout          # sparse_coo, sparse_csr, sparse_csc
    cdef readonly tuple indices          # of COO: one tensor of (sparse dims, entries); else where rows begin, and the columns
    cdef readonly Tensor values
    cdef readonly bint coalesced

cdef Parts parts_of(Tensor t)
cdef bint any_sparse(PyObject** slots, int n) except -1      # whether one of the arguments is sparse, or a list with one that is
cdef void index_by(getitem_verb getitem, setitem_verb setitem) noexcept      # sets the functions that index dense tensors
