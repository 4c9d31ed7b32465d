/* Note [Sealed types]
   An object of a compiled class that no C code has filled has NULL pointers and None in typed fields, and the methods do
   not look before they read them. So Python must not be able to make one, by `cls()`, `cls.__new__(cls)`, copy or pickle.

   The slot tp_new of a sealed type refuses. Cython calls the function that makes the object by its name where the class is
   defined (`X.__new__(X)` in its own module), which does not pass through the slot. Other modules call a function of that
   module. A compiled subclass in another module does call the slot of its base, with its own type or a class made from it by
   Python: that is let through, because the slot of the subclass is sealed itself, and Python's `Base.__new__(Sub)` refuses
   where the slots differ. C code makes instances of classes that Python derived by clay_make.

   clay_replace_new is for types that Python may make: the function given makes complete objects only.
   Tested by tests/survival/test_half_made.py. */
#pragma once
#include <Python.h>

static struct { PyTypeObject* type; newfunc make; } clay_sealed[8];
static int clay_sealed_count = 0;

/* The function that makes a bare object for this type, or for the nearest base that this module knows. */
static newfunc clay_maker(PyTypeObject* type) {
    for (; type != NULL; type = type->tp_base)
        for (int i = 0; i < clay_sealed_count; i++)
            if (clay_sealed[i].type == type) return clay_sealed[i].make;
    return NULL;
}

static PyObject* clay_refuse_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyTypeObject* built = type;
    while (built->tp_flags & Py_TPFLAGS_HEAPTYPE) built = built->tp_base;
    int known = 0;
    for (int i = 0; i < clay_sealed_count; i++) known |= clay_sealed[i].type == built;
    newfunc make = known ? NULL : clay_maker(built);
    if (make != NULL) return make(type, args, kwargs);
    const char* dot = strrchr(type->tp_name, '.');
    PyErr_Format(PyExc_TypeError, "cannot create '%.200s' instances", dot == NULL ? type->tp_name : dot + 1);
    return NULL;
}

/* A bare object of a sealed or replaced type of this module, or of a class made from it. The caller fills it at once. */
static PyObject* clay_make(PyTypeObject* type) {
    newfunc make = clay_maker(type);
    if (make == NULL) return PyErr_Format(PyExc_TypeError, "cannot create '%.200s' instances", type->tp_name);
    PyObject* none = PyTuple_New(0);
    if (none == NULL) return NULL;
    PyObject* out = make(type, none, NULL);
    Py_DECREF(none);
    return out;
}

static int clay_replace_new(PyTypeObject* type, newfunc make) {
    if (clay_sealed_count == 8) {
        PyErr_SetString(PyExc_SystemError, "too many sealed types in a module");
        return -1;
    }
    clay_sealed[clay_sealed_count].type = type;
    clay_sealed[clay_sealed_count].make = type->tp_new;
    clay_sealed_count++;
    type->tp_new = make;
    type->tp_vectorcall = NULL;             /* Cython may have set it to a function that bypasses tp_new */
    PyType_Modified(type);
    return 0;
}

static int clay_seal(PyTypeObject* type) { return clay_replace_new(type, clay_refuse_new); }
