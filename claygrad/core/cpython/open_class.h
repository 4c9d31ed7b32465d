/* Note [Opened class]
   Programs written for PyTorch assign to the tensor class: Tensor.foo = f, Tensor.__add__ = f, mock.patch.object(Tensor, "sum").
   Tensor is a static type. Python refuses to change those because it marks them Py_TPFLAGS_IMMUTABLETYPE, and what that mark
   protects is not the dict (type.__setattr__ writes it, drops the caches and updates the slots of any type, attach() in core/python_api.pyx
   relies on it too) but the setters of type itself: __name__, __qualname__ and __bases__ write to fields that only a class made by
   Python has, which on a static type are somebody else's memory.

   So the mark stays, and the metaclass takes it away for the one write. The invariant: while it is away no code of a user runs.
   - The name is an exact str: no __eq__ or __hash__ of a subclass.
   - What a data descriptor of the metaclass answers for (__name__, __bases__, a property that somebody put there) is written with
     the mark in place: type refuses its own, any other runs safely.
   - The old value is held until the mark is back, so that no destructor runs inside; the collector, which Python 3.11 may start
     at any allocation, waits.
   tp_new is not changed. Python would put its own dispatcher there, and leave it there after the patch is gone; with it,
   object.__new__(Tensor) would make a tensor without storage (Note [No tensor without storage]). The call of the metaclass looks for
   a patched __new__ instead. __del__ is refused: tensors are freed by clay_dealloc, which does not call it.
   Tested by tests/survival/test_patched_class.py. */
#pragma once
#include <Python.h>

static PyTypeObject* clay_opened = NULL;
static PyObject* clay_own_new = NULL;                /* the original Tensor.__new__ */

static int clay_assign_attribute(PyTypeObject* type, PyObject* name, PyObject* value) {
    if (type != clay_opened || !PyUnicode_Check(name)) return PyType_Type.tp_setattro((PyObject*)type, name, value);
    PyObject* key = PyUnicode_FromObject(name);
    if (key == NULL) return -1;
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(type), key);
    if (PyUnicode_CompareWithASCIIString(key, "__del__") == 0) {
        PyErr_SetString(PyExc_TypeError, "cannot set '__del__' of the tensor class\n"
                        "  tensors call no __del__ when they die; weakref.finalize(tensor, function) does what it would");
        Py_DECREF(key);
        return -1;
    }
    if (descriptor != NULL && Py_TYPE(descriptor)->tp_descr_set != NULL) {
        Py_INCREF(descriptor);
        int failed = descriptor == _PyType_Lookup(&PyType_Type, key) ? PyType_Type.tp_setattro((PyObject*)type, key, value)
                                                                      : Py_TYPE(descriptor)->tp_descr_set(descriptor, (PyObject*)type, value);
        Py_DECREF(descriptor);
        Py_DECREF(key);
        return failed;
    }
    PyObject* old = PyDict_GetItemWithError(type->tp_dict, key);
    if (old == NULL && PyErr_Occurred()) {
        Py_DECREF(key);
        return -1;
    }
    Py_XINCREF(old);
    newfunc make = type->tp_new;
    int collecting = PyGC_Disable();
    type->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
    int failed = PyType_Type.tp_setattro((PyObject*)type, key, value);
    type->tp_new = make;
    type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    if (collecting) PyGC_Enable();
    Py_DECREF(key);
    Py_XDECREF(old);
    return failed;
}

/* Tensor(...): calls a patched __new__ if there is one, as Python does for its own classes. */
static PyObject* clay_call_class(PyObject* type, PyObject* args, PyObject* kwargs) {
    if ((PyTypeObject*)type != clay_opened || PyDict_GetItemString(clay_opened->tp_dict, "__new__") == clay_own_new)
        return PyType_Type.tp_call(type, args, kwargs);
    PyObject* make = PyObject_GetAttrString(type, "__new__");
    if (make == NULL) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject* with_class = PyTuple_New(n + 1);
    if (with_class == NULL) {
        Py_DECREF(make);
        return NULL;
    }
    PyTuple_SET_ITEM(with_class, 0, Py_NewRef(type));
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(with_class, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    PyObject* out = PyObject_Call(make, with_class, kwargs);
    Py_DECREF(make);
    Py_DECREF(with_class);
    if (out == NULL || !PyObject_TypeCheck(out, clay_opened)) return out;
    initproc init = Py_TYPE(out)->tp_init;
    if (init != NULL && init != PyBaseObject_Type.tp_init && init(out, args, kwargs) < 0) Py_CLEAR(out);
    return out;
}

static void clay_open_class(PyTypeObject* type, PyTypeObject* meta) {
    clay_opened = type;
    clay_own_new = PyDict_GetItemString(type->tp_dict, "__new__");
    Py_XINCREF(clay_own_new);
    meta->tp_call = clay_call_class;
    Py_INCREF((PyObject*)meta);
    Py_SET_TYPE((PyObject*)type, meta);
}
