from cpython.object cimport PyObject

cdef extern from "frames.h":
    PyObject* clay_where(int* lasti)

cdef extern from *:
    """
    #ifdef CLAY_WITHOUT_PROVENANCE
    #define CLAY_PROVENANCE 0
    #else
    #define CLAY_PROVENANCE 1
    #endif
    """
    const bint PROVENANCE "CLAY_PROVENANCE"    # 0 in the build that `make provenance` compares with

cdef object find_line(int* lasti)

cdef inline object here(int* lasti):          # the code object of the user's line, or None
    return find_line(lasti) if PROVENANCE else None

cpdef object line_of(object code, int lasti)  # "file:line, in function: source" or None
cpdef str where_text(str verb, object code, int lasti)
cpdef str place_text(str filename, int line)
