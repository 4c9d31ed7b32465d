/* Note [Entry points]
   An entry point is what a program calls: an operation, one of Python's operators, a method of a compiled class, a module, or a
   guarded Python function (core/cpython/entry_points.pyx). An exception that leaves an entry point is passed to `claygrad.errors`,
   which adds to PyTorch's message what was given and what to do, and takes claygrad's own frames out of the traceback. Calls that
   raise nothing cost nothing here.

   Cython adds a frame to the traceback for every compiled function that an exception passes, with PyTraceBack_Here. This file is
   included before all others and puts another function in its place. CLAYGRAD_TRACEBACK=full in the environment brings the frames back. */
#pragma once
/* A twelfth of the time that a module takes to compile went into headers that none needs: the templates behind C++'s <math.h>, where C's is
   meant (a name of GNU's library, unknown to others), and <atomic>, which Cython uses where Python has no global lock. */
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#ifndef Py_GIL_DISABLED
#define CYTHON_ATOMICS 0
#endif
#include <stdlib.h>
#include <string.h>

/* Let claygrad.errors.<event>(exception, a, b) work on the exception that is set. */
static void clay_explain(const char* event, PyObject* a, PyObject* b) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type == NULL) return;
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception) || PyErr_GivenExceptionMatches(type, PyExc_StopIteration)
        || PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) {
        PyErr_Restore(type, value, trace);
        return;
    }
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) PyException_SetTraceback(value, trace);
    PyObject* errors = PyImport_ImportModule("claygrad.errors");
    PyObject* done = errors == NULL ? NULL : PyObject_CallMethod(errors, event, "OOO", value, a == NULL ? Py_None : a, b == NULL ? Py_None : b);
    if (done == NULL) PyErr_Clear();        /* an error while explaining must not hide the exception */
    Py_XDECREF(done);
    Py_XDECREF(errors);
    Py_XDECREF(trace);
    PyErr_Restore(type, value, PyException_GetTraceback(value));
}

/* The same, with the arguments of a call as a tuple. */
static void clay_explain_call(const char* event, PyObject* callee, PyObject* const* args, Py_ssize_t n) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* given = PyTuple_New(n);
    for (Py_ssize_t i = 0; given != NULL && i < n; i++) PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    if (given == NULL) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    clay_explain(event, callee, given);
    Py_XDECREF(given);
}

/* What follows the module in a qualified name: `Class.method` for claygrad.core.graph.node.Class.method. NULL: not a name of claygrad. */
static const char* clay_after_module(const char* name) {
    static const char* const packages[] = {"claygrad.core.data.", "claygrad.core.graph.", "claygrad.core.dispatch.", "claygrad.core.cpython.",
                                           "claygrad.core.", "claygrad.native."};
    if (name == NULL) return NULL;
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
        if (strncmp(name, packages[i], strlen(packages[i])) == 0) {
            const char* dot = strchr(name + strlen(packages[i]), '.');
            return dot == NULL ? NULL : dot + 1;
        }
    return NULL;
}

/* Whether a compiled function is one that programs call, such as claygrad.set_num_threads: `name` with its module, `at` without. */
static int clay_is_public(PyObject* name, const char* at) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* home = PyDict_GetItemString(PyImport_GetModuleDict(), "claygrad");
    PyObject* found = home == NULL || !PyModule_Check(home) ? NULL : PyDict_GetItemString(PyModule_GetDict(home), at);
    PyObject* module = found == NULL || PyType_Check(found) ? NULL : PyObject_GetAttrString(found, "__module__");
    PyObject* full = module == NULL || !PyUnicode_Check(module) ? NULL : PyUnicode_FromFormat("%U.%s", module, at);
    int same = full != NULL && PyUnicode_Compare(full, name) == 0;
    Py_XDECREF(full);
    Py_XDECREF(module);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return same;
}

/* What Cython's code calls instead of PyTraceBack_Here. Public methods and public functions are entry points. Others add
   their frame, which the next entry point removes: code that catches an exception expects it to have a traceback. Run, and classes
   whose names begin with an underscore, catch exceptions in their methods, and are no entry points (tests/errors/test_tracebacks.py). */
static int clay_traceback_here(PyFrameObject* frame) {
    const char* asked = getenv("CLAYGRAD_TRACEBACK");
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* at = clay_after_module(PyUnicode_AsUTF8(code->co_name));
    int entry = at != NULL && at[0] != '_' && strncmp(at, "Run.", 4) != 0 && strchr(at, '.') != NULL;
    if (at != NULL && strcmp(at, "_new") == 0) entry = 1;            /* Tensor(...), UntypedStorage(...) */
    if (!entry && at != NULL && at[0] != '_' && strchr(at, '.') == NULL) entry = clay_is_public(code->co_name, at);
    if (entry) clay_explain("method", code->co_name, NULL);
    Py_DECREF(code);
    return entry && !(asked != NULL && strcmp(asked, "full") == 0) ? 0 : PyTraceBack_Here(frame);
}
#define PyTraceBack_Here clay_traceback_here
