/* Note [Farewell]
   Cython's __dealloc__ saves and restores the error state around the call, which costs as much as all the rest of a small
   object's death. This lets a function take leave of an object instead, just before Cython gives up its fields. It is
   called with one reference, so that it may be handled as any object. One type to a module. */
#pragma once
#include <Python.h>

static destructor clay_give_up_fields = NULL;
static void (*clay_take_leave)(PyObject*) = NULL;

static void clay_die(PyObject* o) {
    if (PyType_IS_GC(Py_TYPE(o))) PyObject_GC_UnTrack(o);
    Py_SET_REFCNT(o, 1);
    clay_take_leave(o);
    Py_SET_REFCNT(o, 0);
    clay_give_up_fields(o);
}

static void clay_farewell(PyTypeObject* type, void (*take_leave)(PyObject*)) {
    clay_take_leave = take_leave;
    clay_give_up_fields = type->tp_dealloc;
    type->tp_dealloc = clay_die;
}
