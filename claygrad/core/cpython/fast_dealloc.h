/* Note [Fast dealloc]
   Cython's __dealloc__ saves and restores the error state around the call, which costs as much as the rest of freeing a small
   object. clay_set_dealloc gives a type a function that runs before Cython clears the fields, without that cost. One type per module.

   Freeing an object may run Python code: the callback of a weak reference, or a destructor of something that the object held.
   That code must not be able to reach the object again, since its memory is freed in any case:
   - the garbage collector must not know it, so it is untracked first;
   - weak references must not return it: they answer None while the count is 0, and are cleared before the count is raised;
   - a borrowed pointer to it is set to NULL first; the field at clay_borrowed_at says where that pointer is.
   Only then the count is set to 1 while the function runs, so that Cython may treat it as any object.

   Note [Iterative free]
   A graph is a chain of references, and so are arrays that share memory (tensor, array, export, tensor ...). If each link freed the
   next, the recursion would be as deep as the chain is long. clay_release_later puts a reference on a list instead, and the
   outermost dealloc of a thread releases what is on the list, one after the other. Each such thread has a clay_dealloc_level on its
   stack, so a thread that waits in a destructor does not hold up the others.
   Tested by tests/survival/test_death.py. */
#pragma once
#include <Python.h>

#include <vector>

typedef struct clay_dealloc_level {
    unsigned long thread;
    int depth;                                  /* nested deallocs of this thread */
    struct clay_dealloc_level *next, **at;
} clay_dealloc_level;

static std::vector<PyObject*> clay_pending;
static clay_dealloc_level* clay_dealloc_levels = NULL;

/* Takes over the caller's reference. */
static inline void clay_release_later(PyObject* owned) {
    try {
        clay_pending.push_back(owned);
    } catch (...) {
        Py_DECREF(owned);                       /* no memory for the list: by recursion */
    }
}

static inline clay_dealloc_level* clay_begin_dealloc(clay_dealloc_level* mine) {
    unsigned long me = PyThread_get_thread_ident();
    for (clay_dealloc_level* level = clay_dealloc_levels; level != NULL; level = level->next)
        if (level->thread == me) {
            level->depth++;
            return level;
        }
    mine->thread = me;
    mine->depth = 1;
    mine->next = clay_dealloc_levels;
    mine->at = &clay_dealloc_levels;
    if (mine->next != NULL) mine->next->at = &mine->next;
    clay_dealloc_levels = mine;
    return mine;
}

static inline void clay_end_dealloc(clay_dealloc_level* level) {
    if (level->depth > 1) {
        level->depth--;
        return;
    }
    while (!clay_pending.empty()) {
        PyObject* next = clay_pending.back();
        clay_pending.pop_back();
        Py_DECREF(next);
    }
    *level->at = level->next;
    if (level->next != NULL) level->next->at = level->at;
}

/* Releases an owned reference that may be the first link of a chain. Not inlined: most objects have none. */
static __attribute__((noinline)) void clay_release_chain(PyObject* owned) {
    clay_dealloc_level mine;
    clay_dealloc_level* level = clay_begin_dealloc(&mine);
    clay_release_later(owned);
    clay_end_dealloc(level);
}

static destructor clay_clear_fields = NULL;
static void (*clay_before_dealloc)(PyObject*) = NULL;
static Py_ssize_t clay_weak_at = 0, clay_borrowed_at = 0;

static inline void clay_finish_dealloc(PyObject* o) {
    Py_SET_REFCNT(o, 1);
    clay_before_dealloc(o);
    Py_SET_REFCNT(o, 0);
    clay_clear_fields(o);
}

static void clay_dealloc_gc(PyObject* o) {
    if (PyType_IS_GC(Py_TYPE(o))) PyObject_GC_UnTrack(o);
    if (clay_borrowed_at != 0) {
        PyObject** place = *(PyObject***)((char*)o + clay_borrowed_at);
        if (place != NULL) *place = NULL;
    }
    if (*(PyObject**)((char*)o + clay_weak_at) != NULL) PyObject_ClearWeakRefs(o);
    clay_finish_dealloc(o);
}

/* The same for a class without garbage collection, */
static void clay_dealloc_no_gc(PyObject* o) {
    if (*(PyObject**)((char*)o + clay_weak_at) != NULL) PyObject_ClearWeakRefs(o);
    clay_finish_dealloc(o);
}

/* and for one without weak references too. */
static void clay_dealloc_simple(PyObject* o) { clay_finish_dealloc(o); }

static void clay_set_dealloc(PyTypeObject* type, void (*before_dealloc)(PyObject*)) {
    int known = PyType_IS_GC(type);             /* if not, Python untracks the instances of subclasses itself */
    clay_before_dealloc = before_dealloc;
    clay_weak_at = type->tp_weaklistoffset;
    clay_clear_fields = type->tp_dealloc;
    type->tp_dealloc = known ? clay_dealloc_gc : clay_weak_at != 0 ? clay_dealloc_no_gc : clay_dealloc_simple;
}
