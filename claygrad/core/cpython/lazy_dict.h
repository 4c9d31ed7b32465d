/* Note [Lazy __dict__]
   Cython would make a dict for every tensor. This gives the type a dict offset instead, so that Python makes one when an
   attribute is set, and shows it to the garbage collector. Python code may put another dict in its place, shared or not, or
   delete it, after which the next use makes an empty one. */
#pragma once
#include <Python.h>

#include "fast_dealloc.h"

static Py_ssize_t clay_dict_at = 0;
static traverseproc clay_traverse_fields = NULL;
static void (*clay_clear_links)(PyObject*) = NULL;
static Py_ssize_t clay_grad_at = 0, clay_tensor_weak_at = 0;
static destructor clay_dealloc_fields = NULL;

static PyObject** clay_dict(PyObject* o) { return (PyObject**)((char*)o + clay_dict_at); }

static int clay_traverse(PyObject* o, visitproc visit, void* arg) {
    Py_VISIT(*clay_dict(o));
    return clay_traverse_fields(o, visit, arg);
}

/* Used instead of Cython's __dealloc__, which saves and restores the error state for every tensor. Freeing the __dict__ and .grad
   may run Python code. Before that, weak references are cleared, and the tensor is untracked: the garbage collector would otherwise
   find it with a count of 0 and free it a second time. For an instance of a Python subclass, Python tracks the object again before
   it calls this, so subclasses need it too (Note [Fast dealloc]). */
static void clay_dealloc(PyObject* o) {
    PyObject** dict = clay_dict(o);
    PyObject** grad = (PyObject**)((char*)o + clay_grad_at);
    if (*dict != NULL || *grad != Py_None) {
        PyObject_GC_UnTrack(o);
        if (*(PyObject**)((char*)o + clay_tensor_weak_at) != NULL) PyObject_ClearWeakRefs(o);
        Py_CLEAR(*dict);
        if (*grad != NULL && *grad != Py_None) {        /* a.grad.grad.grad ...: Note [Iterative free] */
            PyObject* held = *grad;
            *grad = NULL;
            clay_release_chain(held);
        }
    }
    clay_dealloc_fields(o);
}

/* The garbage collector may clear any field to break a cycle, except those that every method reads: until the tensor is freed,
   other code can still use it. */
static int clay_clear(PyObject* o) {
    Py_CLEAR(*clay_dict(o));
    clay_clear_links(o);
    return 0;
}

static int clay_set_dict(PyObject* o, PyObject* value, void* unused) {
    if (value != NULL && !PyDict_Check(value)) {
        PyErr_Format(PyExc_TypeError, "__dict__ must be set to a dictionary, not a '%.200s'", Py_TYPE(value)->tp_name);
        return -1;
    }
    Py_XINCREF(value);
    Py_XSETREF(*clay_dict(o), value);
    return 0;
}

static PyGetSetDef clay_dict_attribute = {"__dict__", PyObject_GenericGetDict, clay_set_dict, NULL, NULL};

/* Error messages show this name; the metaclass adds the module. */
static int clay_lazy_dict(PyTypeObject* type, Py_ssize_t offset, Py_ssize_t grad, void (*clear_links)(PyObject*),
                          const char* name) {
    PyObject* attribute = PyDescr_NewGetSet(type, &clay_dict_attribute);
    if (attribute == NULL) return -1;
    int failed = PyDict_SetItemString(type->tp_dict, "__dict__", attribute);
    Py_DECREF(attribute);
    if (failed) return -1;
    clay_dict_at = offset;
    clay_grad_at = grad;
    clay_tensor_weak_at = type->tp_weaklistoffset;
    clay_clear_links = clear_links;
    clay_traverse_fields = type->tp_traverse;
    type->tp_traverse = clay_traverse;
    type->tp_clear = clay_clear;
    clay_dealloc_fields = type->tp_dealloc;
    type->tp_dealloc = clay_dealloc;
    type->tp_dictoffset = offset;
    type->tp_name = name;
    PyType_Modified(type);
    return 0;
}
