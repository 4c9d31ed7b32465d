/* Note [Farewell]
   How compiled objects die. Cython's __dealloc__ saves and restores the error state around the call, which costs as much as
   all the rest of a small object's death; clay_farewell lets a function take leave of an object instead, just before Cython
   gives up its fields. One type to a module.

   What may run Python code while an object dies (a weak reference's callback, a destructor of something it held) must not be
   able to reach it again, because its memory is given back in any case:
   - the collector must not know it: it is untracked first;
   - weak references must not give it out: they answer None while the count is 0, and are cleared before the count is raised;
   - what points to it without a reference is set to NULL first: the field at clay_borrowed_at says where that is.
   Only then it gets a count of 1 for the time of the function, so that Cython may handle it as any object.

   Note [Iterative free]
   A graph is a chain of references, and so are arrays that share memory (tensor, array, export, tensor ...); letting each link
   drop the next would recurse as deep as the chain is long. clay_doom puts a reference on a list instead, and the outermost
   death of a thread lets go of what is on it, one after the other. Each thread that is at it has a clay_level on its stack, so
   one that is held up in a destructor does not hold up the others.
   Tested by tests/survival/test_death.py. */
#pragma once
#include <Python.h>

#include <vector>

typedef struct clay_level {
    unsigned long thread;
    int depth;                                  /* deaths under way in this thread, one inside the other */
    struct clay_level *next, **at;
} clay_level;

static std::vector<PyObject*> clay_doomed;
static clay_level* clay_levels = NULL;

/* Takes over the caller's reference. */
static inline void clay_doom(PyObject* owned) {
    try {
        clay_doomed.push_back(owned);
    } catch (...) {
        Py_DECREF(owned);                       /* no memory for the list: by recursion */
    }
}

static inline clay_level* clay_enter(clay_level* mine) {
    unsigned long me = PyThread_get_thread_ident();
    for (clay_level* level = clay_levels; level != NULL; level = level->next)
        if (level->thread == me) {
            level->depth++;
            return level;
        }
    mine->thread = me;
    mine->depth = 1;
    mine->next = clay_levels;
    mine->at = &clay_levels;
    if (mine->next != NULL) mine->next->at = &mine->next;
    clay_levels = mine;
    return mine;
}

static inline void clay_leave(clay_level* level) {
    if (level->depth > 1) {
        level->depth--;
        return;
    }
    while (!clay_doomed.empty()) {
        PyObject* next = clay_doomed.back();
        clay_doomed.pop_back();
        Py_DECREF(next);
    }
    *level->at = level->next;
    if (level->next != NULL) level->next->at = level->at;
}

/* Lets go of a reference that may be the first link of a chain; takes it over. Not inlined: most objects have none. */
static __attribute__((noinline)) void clay_let_go(PyObject* owned) {
    clay_level mine;
    clay_level* level = clay_enter(&mine);
    clay_doom(owned);
    clay_leave(level);
}

static destructor clay_give_up_fields = NULL;
static void (*clay_take_leave)(PyObject*) = NULL;
static Py_ssize_t clay_weak_at = 0, clay_borrowed_at = 0;

static inline void clay_leave_and_give_up(PyObject* o) {
    Py_SET_REFCNT(o, 1);
    clay_take_leave(o);
    Py_SET_REFCNT(o, 0);
    clay_give_up_fields(o);
}

static void clay_die(PyObject* o) {
    if (PyType_IS_GC(Py_TYPE(o))) PyObject_GC_UnTrack(o);
    if (clay_borrowed_at != 0) {
        PyObject** place = *(PyObject***)((char*)o + clay_borrowed_at);
        if (place != NULL) *place = NULL;
    }
    if (*(PyObject**)((char*)o + clay_weak_at) != NULL) PyObject_ClearWeakRefs(o);
    clay_leave_and_give_up(o);
}

/* The same for a class that the collector does not know, */
static void clay_die_alone(PyObject* o) {
    if (*(PyObject**)((char*)o + clay_weak_at) != NULL) PyObject_ClearWeakRefs(o);
    clay_leave_and_give_up(o);
}

/* and that has no weak references. */
static void clay_die_unseen(PyObject* o) { clay_leave_and_give_up(o); }

static void clay_farewell(PyTypeObject* type, void (*take_leave)(PyObject*)) {
    int known = PyType_IS_GC(type);             /* of a class that is not, Python untracks the instances of subclasses itself */
    clay_take_leave = take_leave;
    clay_weak_at = type->tp_weaklistoffset;
    clay_give_up_fields = type->tp_dealloc;
    type->tp_dealloc = known ? clay_die : clay_weak_at != 0 ? clay_die_alone : clay_die_unseen;
}
