/* Note [Guarded functions]
   Python adds a frame to the traceback when an exception leaves it. Only the C code that called the frame can remove it again. That
   code is in the `vectorcall` field of a function object. CPython 3.11 ignores that field for objects of type `function`, which it
   runs in its own loop, but not for other types. So on 3.11 a guarded function gets a subtype of `function` that adds nothing. From
   3.12 on CPython reads the field, except for `__init__`: from 3.13 on a class that was called some times runs the frame of its
   `__init__` directly. So from 3.12 on only `__init__` gets the subtype. A new type has a `__doc__` of its own, None, which would hide
   the docstring of every function: it is deleted. */
#pragma once
#include <Python.h>

static vectorcallfunc clay_original_vectorcall;

/* Whether a module's __getattr__ was asked for `__path__` or the like: Python's import does that, and nobody reads the error. */
static int clay_asks_quietly(PyObject* const* args, Py_ssize_t n) {
    if (n != 1 || !PyUnicode_Check(args[0]) || !PyErr_ExceptionMatches(PyExc_AttributeError)) return 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(args[0]);
    return length > 4 && PyUnicode_READ_CHAR(args[0], 0) == '_' && PyUnicode_READ_CHAR(args[0], 1) == '_'
        && PyUnicode_READ_CHAR(args[0], length - 1) == '_' && PyUnicode_READ_CHAR(args[0], length - 2) == '_';
}

static PyObject* clay_guarded_vectorcall(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    PyObject* out = clay_original_vectorcall(function, args, nargsf, kwnames);
    if (out == NULL && !clay_asks_quietly(args, PyVectorcall_NARGS(nargsf)))
        clay_explain_call("function", function, args, PyVectorcall_NARGS(nargsf));
    return out;
}

static PyTypeObject clay_function;

static int clay_make_type(void) {
    if (clay_function.tp_base != NULL) return 0;
    clay_function.tp_name = "function";
    clay_function.tp_base = &PyFunction_Type;
    clay_function.tp_basicsize = PyFunction_Type.tp_basicsize;
    clay_function.tp_flags = Py_TPFLAGS_DEFAULT;
    Py_SET_REFCNT((PyObject*)&clay_function, 1);
    if (PyType_Ready(&clay_function) < 0 || PyDict_DelItemString(clay_function.tp_dict, "__doc__") < 0) return -1;
    PyType_Modified(&clay_function);
    return 0;
}

static int clay_guard(PyObject* function) {
    PyFunctionObject* f = (PyFunctionObject*)function;
    if (clay_original_vectorcall == NULL) clay_original_vectorcall = f->vectorcall;
    if (f->vectorcall != clay_original_vectorcall) return 0;
#if PY_VERSION_HEX < 0x030C0000
    const int subtype = 1;
    f->vectorcall = clay_guarded_vectorcall;
#else
    const int subtype = PyUnicode_CompareWithASCIIString(f->func_name, "__init__") == 0;
    PyFunction_SetVectorcall(f, clay_guarded_vectorcall);
#endif
    if (!subtype) return 0;
    if (clay_make_type() < 0) return -1;
    Py_SET_TYPE(function, &clay_function);
    return 0;
}
