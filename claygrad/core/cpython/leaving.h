/* Note [Leaving]
   An exception that leaves claygrad is told to `claygrad.errors`, which says below PyTorch's line what came, from where, and the way
   out, and takes claygrad's own frames out of the traceback. It is told at the doors: calls of operations, Python's operators,
   methods of compiled classes, calls of modules, and Python functions that are guarded (core/cpython/leaving.pyx). Nothing happens, and nothing is
   kept, while no exception is on its way.

   Cython adds a frame to the traceback for every compiled function that an exception passes, with PyTraceBack_Here. This file is
   included before all others and puts another function in its place. CLAYGRAD_TRACEBACK=full in the environment brings the frames back. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

/* Let claygrad.errors.<event>(exception, a, b) work on the exception that is set. */
static void clay_tell(const char* event, PyObject* a, PyObject* b) {
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
    if (done == NULL) PyErr_Clear();        /* the exception itself is what counts */
    Py_XDECREF(done);
    Py_XDECREF(errors);
    Py_XDECREF(trace);
    PyErr_Restore(type, value, PyException_GetTraceback(value));
}

/* The same with some arguments of a call as a tuple. */
static void clay_tell_call(const char* event, PyObject* callee, PyObject* const* args, Py_ssize_t n) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* given = PyTuple_New(n);
    for (Py_ssize_t i = 0; given != NULL && i < n; i++) PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    if (given == NULL) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    clay_tell(event, callee, given);
    Py_XDECREF(given);
}

/* `Class.method` of claygrad.core.graph.node.Class.method: what follows the name of the module. NULL of another name. */
static const char* clay_behind_module(const char* name) {
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
static int clay_is_offered(PyObject* name, const char* at) {
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

/* What Cython's code calls instead of PyTraceBack_Here. Methods of classes and functions that programs call are doors. Others add
   their frame, which the next door takes out: code that catches an exception supposes that it has a traceback. Run and the classes
   whose names begin with an underscore catch some in their methods, and are no doors (tests/errors/test_tracebacks.py looks). */
static int clay_traceback_here(PyFrameObject* frame) {
    const char* asked = getenv("CLAYGRAD_TRACEBACK");
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* at = clay_behind_module(PyUnicode_AsUTF8(code->co_name));
    int door = at != NULL && at[0] != '_' && strncmp(at, "Run.", 4) != 0 && strchr(at, '.') != NULL;
    if (at != NULL && strcmp(at, "_new") == 0) door = 1;            /* Tensor(...), UntypedStorage(...) */
    if (!door && at != NULL && at[0] != '_' && strchr(at, '.') == NULL) door = clay_is_offered(code->co_name, at);
    if (door) clay_tell("method", code->co_name, NULL);
    Py_DECREF(code);
    return door && !(asked != NULL && strcmp(asked, "full") == 0) ? 0 : PyTraceBack_Here(frame);
}
#define PyTraceBack_Here clay_traceback_here
