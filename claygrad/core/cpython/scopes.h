/* Note [Running modules]
   Every thread knows the modules whose forward runs, the innermost first: a list of scopes, one for each call. A recorded node
   keeps the scope that it was made in; the path of the module is worked out only when somebody asks (core/graph/module_paths.py).
   A scope knows its module through a weak reference, so a node keeps no module alive. It is counted and lives on the heap: what
   switches stacks behind our back (greenlets) may leave the wrong module on top, but never one whose memory is gone. */
#pragma once
#include <Python.h>

typedef struct clay_scope {
    Py_ssize_t refs;
    struct clay_scope* outer;       /* owned; NULL: called from outside of modules */
    PyObject* module;               /* a weak reference, or NULL where the class allows none */
    PyTypeObject* kind;             /* its class, for when it is gone */
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

/* A weak reference to a module. The last ones are kept, because a module that is called once is called again. */
static inline PyObject* clay_weak(PyObject* module) {
    static PyObject* kept[256];
    PyObject** place = &kept[((size_t)module >> 5) & 255];
    if (*place != NULL && ((PyWeakReference*)*place)->wr_object == module) return Py_NewRef(*place);
    PyObject* made = PyWeakref_NewRef(module, NULL);
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_XSETREF(*place, Py_NewRef(made));
    return made;
}

/* The module is on top of the running ones until clay_scope_leave gets what this returns. NULL: no memory, and nothing to leave. */
static inline clay_scope* clay_scope_enter(clay_scope** running, PyObject* module) {
#ifdef CLAY_WITHOUT_PROVENANCE
    return NULL;
#endif
    clay_scope* made = (clay_scope*)PyObject_Malloc(sizeof(clay_scope));
    if (made == NULL) return NULL;
    made->refs = 2;                 /* the caller's, and that of the thread */
    made->outer = *running;
    made->module = clay_weak(module);
    made->kind = (PyTypeObject*)Py_NewRef((PyObject*)Py_TYPE(module));
    *running = made;
    return made;
}

static inline void clay_scope_leave(clay_scope** running, clay_scope* mine) {
    if (mine == NULL) return;
    clay_scope* top = *running;
    *running = clay_scope_take(mine->outer);
    clay_scope_release(top);
    clay_scope_release(mine);
}
