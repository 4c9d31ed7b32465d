"""The bytes that all aliases of a tensor share."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from claygrad.core.device cimport CPU, cpu, device
from claygrad.core.kernels cimport pool_alloc, pool_free

cdef extern from "farewell.h":
    void clay_farewell(PyTypeObject* type, void (*take_leave)(PyObject*) noexcept)


@cython.final
@cython.freelist(256)
@cython.no_gc
cdef class Storage:
    """One block of memory, its write counter and its epochs (Note [Epochs] in storage.pxd)."""

    cdef int before_write(self) except -1:
        """Keep what saved values read; to be called before any byte changes."""
        if self.holders == 0:
            return 0
        cdef Storage copy = storage_on(self.where, self.length)
        if self.ptr != NULL:
            memcpy(copy.ptr, self.ptr, self.length)
        if self.past is None:
            self.past = {}
        self.past[self.epoch] = [copy, self.holders]
        self.holders = 0
        self.epoch += 1
        return 0

    cdef int grow(self, int64_t nbytes) except -1:
        """More bytes under the same aliases; the new ones are uninitialised."""
        cdef Storage larger
        if self.exports:
            raise RuntimeError("Trying to resize storage that is not resizable")
        self.before_write()
        if self.ptr != NULL:
            larger = new_storage(nbytes)
            memcpy(larger.ptr, self.ptr, self.length)
            self.ptr, larger.ptr = larger.ptr, self.ptr
            larger.length, larger.owner = self.length, self.owner      # the old block goes with it
            self.owner = None
        self.length = nbytes
        return 0

    def resize_(self, int64_t nbytes):
        """Grow to this many bytes; a smaller size is kept as it is."""
        if nbytes > self.length:
            self.grow(nbytes)
        return self

    cdef int64_t hold(self) noexcept:
        self.holders += 1
        return self.epoch

    cdef void release(self, int64_t epoch):
        if epoch == self.epoch:
            self.holders -= 1
            return
        entry = self.past[epoch]
        if entry[1] == 1:
            del self.past[epoch]
        else:
            entry[1] -= 1

    cdef Storage at(self, int64_t epoch):
        return self if epoch == self.epoch else <Storage>self.past[epoch][0]

    # What Python sees, as torch.UntypedStorage
    def data_ptr(self):
        return <size_t>self.ptr

    def nbytes(self):
        return self.length

    def size(self):
        return self.length

    def __len__(self):
        return self.length

    def __getitem__(self, Py_ssize_t i):
        if i < 0:
            i += self.length
        if i < 0 or i >= self.length:
            raise IndexError(f"index {i} is out of bounds for storage of size {self.length}")
        return (<unsigned char*>self.ptr)[i]

    def tolist(self):
        return list(<bytes>(self.ptr[:self.length]))

    def fill_(self, int value):
        self.before_write()
        cdef int64_t i
        for i in range(self.length):
            self.ptr[i] = <char>value
        return self

    @property
    def device(self):
        return self.where


cdef void _take_leave(PyObject* dying) noexcept:
    cdef Storage s = <Storage>dying
    if s.owner is None and s.ptr != NULL:
        pool_free(s.ptr, s.length)


clay_farewell(<PyTypeObject*>Storage, _take_leave)                # Note [Farewell]


cdef Storage new_storage(int64_t nbytes):
    cdef Storage s = Storage.__new__(Storage)
    s.where = cpu
    s.length = nbytes
    s.ptr = <char*>pool_alloc(nbytes)
    if s.ptr == NULL:
        s.length = 0
        raise RuntimeError(f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                           f"you tried to allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)")
    return s


cdef Storage borrow(char* ptr, int64_t nbytes, object owner):
    cdef Storage s = Storage.__new__(Storage)
    s.where = cpu
    s.length = nbytes
    s.ptr = ptr
    s.owner = owner
    return s


cdef Storage storage_on(device where, int64_t nbytes):
    if where.kind == CPU:
        return new_storage(nbytes)
    cdef Storage s = Storage.__new__(Storage)
    s.where = where
    s.length = nbytes
    return s
