/* Note [Running modules]
   Every thread has a list of scopes, one for each module call whose forward is running, the innermost first. A recorded node
   keeps its scope; the path of the module is computed only on demand (core/graph/module_paths.py). A scope holds a weak reference
   to its module, so a node keeps no module alive. Scopes are reference-counted and live on the heap: a library that switches stacks
   (greenlets) may leave the wrong module on top of the list, but never a freed one. */
#pragma once
#include <Python.h>

typedef struct clay_scope {
    Py_ssize_t refs;
    struct clay_scope* outer;       /* owned; NULL: called from outside of modules */
    PyObject* module;               /* a weak reference, or NULL where the class allows none */
    PyTypeObject* kind;             /* its class, in case the module is freed */
} clay_scope;

static inline clay_scope* clay_scope_take(clay_scope* scope) {
#ifdef CLAY_WITHOUT_PROVENANCE
    return NULL;                    /* `make provenance` counts what this file costs */
#endif
    if (scope != NULL) scope->refs++;
    return scope;
}

static inline void clay_scope_release(clay_scope* scope) {
    while (scope != NULL && --scope->refs == 0) {
        clay_scope* outer = scope->outer;
        Py_XDECREF(scope->module);
        Py_DECREF(scope->kind);
        PyObject_Free(scope);
        scope = outer;
    }
}

/* A weak reference to a module. Recent ones are cached, because modules are called again and again. */
static inline PyObject* clay_weak(PyObject* module) {
    static PyObject* kept[256];
    PyObject** place = &kept[((size_t)module >> 5) & 255];
    if (*place != NULL && ((PyWeakReference*)*place)->wr_object == module) return Py_NewRef(*place);
    PyObject* out = PyWeakref_NewRef(module, NULL);
    if (out == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_XSETREF(*place, Py_NewRef(out));
    return out;
}

/* Pushes a module on the list of running ones; clay_scope_leave takes the result. NULL: no memory, nothing was pushed. */
static inline clay_scope* clay_scope_enter(clay_scope** running, PyObject* module) {
#ifdef CLAY_WITHOUT_PROVENANCE
    return NULL;
#endif
    clay_scope* out = (clay_scope*)PyObject_Malloc(sizeof(clay_scope));
    if (out == NULL) return NULL;
    out->refs = 2;                 /* one for the caller, one for the list */
    out->outer = *running;
    out->module = clay_weak(module);
    out->kind = (PyTypeObject*)Py_NewRef((PyObject*)Py_TYPE(module));
    *running = out;
    return out;
}

static inline void clay_scope_leave(clay_scope** running, clay_scope* mine) {
    if (mine == NULL) return;
    clay_scope* top = *running;
    *running = clay_scope_take(mine->outer);
    clay_scope_release(top);
    clay_scope_release(mine);
}
