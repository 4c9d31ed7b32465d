"""The user's line that created a tensor or node. Code object and offset are stored; the line is decoded on demand."""
import linecache
import os
import sys

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

cdef extern from "frames.h":
    PyObject* clay_where(int* lasti)
    void clay_set_home(object directory)

cdef extern from *:
    """
    #ifdef __cplusplus
    extern "C"
    #endif
    PyObject* clay_variables(PyObject* frame);
    """
    object clay_variables(object frame)

cdef extern from *:
    """
    static int clay_line(PyObject* code, int offset) { return PyCode_Addr2Line((PyCodeObject*)code, offset); }
    """
    int clay_line(object code, int offset)

clay_set_home(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep)


cdef object find_line(int* lasti):
    cdef PyObject* code = clay_where(lasti)
    if code == NULL:
        return None
    out = <object>code
    Py_DECREF(out)
    return out


cpdef object line_of(object code, int lasti):
    """File, line, function and source text of an instruction; None without code."""
    if code is None:
        return None
    cdef int line = clay_line(code, lasti)
    source = linecache.getline(code.co_filename, line).strip()
    return code.co_filename, line, code.co_name, source


cpdef str place_text(str filename, int line):
    """`model.py:7`, or `Cell In[7], line 3` in a notebook, whose cells have meaningless file names."""
    notebook = sys.modules.get("IPython")
    if notebook is not None:
        shell = notebook.get_ipython()
        if shell is not None:
            try:
                found = shell.compile.format_code_name(filename)
            except Exception:
                found = None
            if found is not None:
                return f"{' '.join(found)}, line {line}"
    return f"{filename}:{line}"


cpdef str where_text(str verb, object code, int lasti):
    """One indented line for an error message, such as `  made at model.py:7, in step: y = x * 2`."""
    found = line_of(code, lasti)
    if found is None:
        return ""
    name, line, function, source = found
    text = f"\n  {verb} at {place_text(name, line)}, in {function}"
    return f"{text}: {source}" if source else text


def variables_of(frame):
    """The variables of a function's frame by name; those of a module or a class are in `frame.f_locals`."""
    found = clay_variables(frame)
    return dict(frame.f_locals) if found is None else found
