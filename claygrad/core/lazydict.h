/* Note [Lazy __dict__]
   Cython would make a dict for every tensor. This gives the type a dict offset instead, so that Python makes one when an
   attribute is set, and shows it to the garbage collector. */
#pragma once
#include <Python.h>

static Py_ssize_t clay_dict_at = 0;
static traverseproc clay_traverse_fields = NULL;
static inquiry clay_clear_fields = NULL;
static destructor clay_dealloc_fields = NULL;

static PyObject** clay_dict(PyObject* o) { return (PyObject**)((char*)o + clay_dict_at); }

static int clay_traverse(PyObject* o, visitproc visit, void* arg) {
    Py_VISIT(*clay_dict(o));
    return clay_traverse_fields(o, visit, arg);
}

static int clay_clear(PyObject* o) {
    Py_CLEAR(*clay_dict(o));
    return clay_clear_fields(o);
}

/* Instead of Cython's __dealloc__, which saves and restores the error state around a call for every tensor. */
static void clay_dealloc(PyObject* o) {
    Py_CLEAR(*clay_dict(o));
    clay_dealloc_fields(o);
}

/* The name is what error texts say; the class of the type tells the module. */
static void clay_lazy_dict(PyTypeObject* type, Py_ssize_t offset, const char* name) {
    clay_dict_at = offset;
    clay_traverse_fields = type->tp_traverse;
    clay_clear_fields = type->tp_clear;
    type->tp_traverse = clay_traverse;
    type->tp_clear = clay_clear;
    clay_dealloc_fields = type->tp_dealloc;
    type->tp_dealloc = clay_dealloc;
    type->tp_dictoffset = offset;
    type->tp_name = name;
    PyType_Modified(type);
}
