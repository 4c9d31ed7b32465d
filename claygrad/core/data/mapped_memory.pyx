"""Memory mapped from files: shared between processes, or the contents of a user's file."""
cimport cython
from cpython.object cimport PyTypeObject
from libc.errno cimport errno
from libc.stdint cimport int64_t

cdef extern from "sealed.h":
    int clay_seal(PyTypeObject* type) except -1

cdef extern from "file_faults.h":
    void clay_guard(char* ptr, int64_t size) noexcept
    void clay_unguard(char* ptr) noexcept

cdef extern from *:
    """
    #if defined(_WIN32)
    #include <errno.h>
    static void* clay_map(int fd, int64_t size, int is_private) { errno = ENOSYS; return NULL; }
    static void clay_unmap(void* ptr, int64_t size, int fd) {}
    #else
    #include <sys/mman.h>
    #include <unistd.h>
    static void* clay_map(int fd, int64_t size, int is_private) {
        void* ptr = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, is_private ? MAP_PRIVATE : MAP_SHARED, fd, 0);
        return ptr == MAP_FAILED ? NULL : ptr;
    }
    static void clay_unmap(void* ptr, int64_t size, int fd) {
        if (ptr != NULL) munmap(ptr, (size_t)size);
        if (fd >= 0) close(fd);
    }
    #endif
    """
    void* clay_map(int fd, int64_t size, bint is_private) noexcept
    void clay_unmap(void* ptr, int64_t size, int fd) noexcept


@cython.final
@cython.no_gc                                    # it may hold a storage, which is no object of the garbage collector
cdef class Mapping:
    def __dealloc__(self):
        clay_unguard(self.ptr)
        clay_unmap(self.ptr, self.size, self.descriptor)


clay_seal(<PyTypeObject*>Mapping)                # Note [Sealed types]


def map_file(int descriptor, int64_t nbytes, *, bint private=False, bint keep=False, bint fixed=False, str name=None, str path=None):
    """Map the first bytes of an open file, which must be that long. keep: take over the descriptor.

    fixed: no process can truncate the file.
    """
    cdef Mapping out = Mapping.__new__(Mapping)
    out.descriptor = -1
    out.apart, out.name, out.path = private, name, path
    out.size = nbytes if nbytes > 0 else 1
    out.ptr = <char*>clay_map(descriptor, out.size, private)
    if out.ptr == NULL:
        code = errno
        import os
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{path or name or 'filename not specified'}>: "
                           f"{os.strerror(code)} ({code})")
    if not fixed:
        clay_guard(out.ptr, out.size)            # Note [Files that shrink]
    if keep:
        out.descriptor = descriptor
    return out
