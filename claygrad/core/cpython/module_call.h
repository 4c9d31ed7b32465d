/* Note [Native module calls]
   The common case of a module call in C: look up a parameter by name, and call forward directly if there are no hooks. The Python
   methods of Module define what happens; these functions do the common case and leave everything else to those methods. They are
   the slots tp_getattro and tp_call of a module class. Python itself replaces them when a program assigns __getattr__ or __call__
   to the class. */
#pragma once
#include <Python.h>

#include "module_scopes.h"

static PyObject *clay_tables[3];            /* names of the dicts that attributes are looked up in */
enum { CLAY_MAX_HOOKS = 16 };
static PyObject *clay_hooks[CLAY_MAX_HOOKS];             /* CALL_HOOKS of nn/modules/_calling.py: names of dicts that must be empty, */
static PyObject *clay_global_hooks[CLAY_MAX_HOOKS];      /* and dicts that must be empty */
static int clay_n_hooks = 0;
static PyObject *clay_forward, *clay_call, *clay_call_impl, *clay_compiled, *clay_own_call_impl;
static PyObject *clay_sequential;           /* the forward of Sequential */
static clay_scope** (*clay_running)(void);  /* where this thread keeps the scope of the module that runs */
static unsigned char clay_loads[3];         /* numbers of the instructions that load attributes */

static int clay_loads_attribute(PyCodeObject* code, int lasti) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* bytes = PyCode_GetCode(code);
    int found = 0;
    if (bytes == NULL) PyErr_Clear();
    else if (lasti >= 0 && lasti < PyBytes_GET_SIZE(bytes)) {
        unsigned char at = (unsigned char)PyBytes_AS_STRING(bytes)[lasti];
        for (int i = 0; i < 3; i++) found |= clay_loads[i] != 0 && at == clay_loads[i];
    }
    Py_XDECREF(bytes);
    PyErr_Restore(type, value, trace);
    return found;
}

/* Only for attributes that the user's line names: hasattr, and getattr with a default, fail all the time. */
static void clay_explain_attribute(PyObject* self, PyObject* name) {
    PyFrameObject* frame = PyEval_GetFrame();
    if (frame == NULL) return;
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (clay_loads_attribute(code, PyFrame_GetLasti(frame))) clay_explain("attribute", self, name);
    Py_DECREF(code);
}

static PyObject* clay_module_getattro(PyObject* self, PyObject* name) {
    PyTypeObject* type = Py_TYPE(self);
    int on_class = _PyType_Lookup(type, name) != NULL;
    if (on_class) {
        PyObject* found = PyObject_GenericGetAttr(self, name);
        if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
        PyErr_Clear();                      /* a property that raised AttributeError: continue as if there were none */
    }
    PyObject* own = PyObject_GenericGetDict(self, NULL);
    if (own == NULL) return NULL;
    PyObject* found = on_class ? NULL : PyDict_GetItemWithError(own, name);
    for (int i = 0; found == NULL && i < 3 && !PyErr_Occurred(); i++) {
        PyObject* table = PyDict_GetItemWithError(own, clay_tables[i]);
        if (table != NULL && PyDict_Check(table)) found = PyDict_GetItemWithError(table, name);
    }
    if (found != NULL) Py_INCREF(found);
    else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_AttributeError, "'%.200s' object has no attribute '%U'", type->tp_name, name);
        clay_explain_attribute(self, name);
    }
    Py_DECREF(own);
    return found;
}

/* Whether a call is nothing but a call of forward. */
static int clay_has_default_call(PyTypeObject* type, PyObject* own) {
    for (int i = 0; i < clay_n_hooks; i++) {
        PyObject* hooks = PyDict_GetItemWithError(own, clay_hooks[i]);
        if (hooks == NULL || !PyDict_Check(hooks) || PyDict_GET_SIZE(hooks) || PyDict_GET_SIZE(clay_global_hooks[i]))
            return 0;
    }
    return _PyType_Lookup(type, clay_call_impl) == clay_own_call_impl
        && _PyType_Lookup(type, clay_compiled) == Py_None && PyDict_GetItemWithError(own, clay_compiled) == NULL
        && PyDict_GetItemWithError(own, clay_call_impl) == NULL && PyDict_GetItemWithError(own, clay_forward) == NULL;
}

/* Sequential.forward: each module gets the result of the one before. NULL without an error: does not apply. */
static PyObject* clay_run_sequential(PyObject* own, PyObject* input) {
    PyObject* modules = PyDict_GetItemWithError(own, clay_tables[2]);
    PyObject *kept[32], *module;
    Py_ssize_t at = 0, n = 0;
    if (modules == NULL || !PyDict_CheckExact(modules) || PyDict_GET_SIZE(modules) > 32) return NULL;
    while (PyDict_Next(modules, &at, NULL, &module)) kept[n++] = Py_NewRef(module);     /* a forward may change the dict */
    PyObject* value = Py_NewRef(input);
    Py_INCREF(modules);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (value != NULL) {
            PyObject* next = PyObject_CallOneArg(kept[i], value);
            Py_DECREF(value);
            value = next;
        }
        if (value != NULL && PyDict_GET_SIZE(modules) != n) {
            PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
            Py_CLEAR(value);
        }
        Py_DECREF(kept[i]);
    }
    Py_DECREF(modules);
    return value;
}

/* Calls `attribute` of a module, usually a function of its class. */
static PyObject* clay_call_attribute(PyObject* self, PyObject* function, PyObject* attribute, PyObject* args, PyObject* kwargs) {
    PyObject* stack[9];
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (function != NULL && PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_METHOD_DESCRIPTOR) && n <= 8) {
        stack[0] = self;
        for (Py_ssize_t i = 0; i < n; i++) stack[i + 1] = PyTuple_GET_ITEM(args, i);
        Py_INCREF(function);
        PyObject* out = PyObject_VectorcallDict(function, stack, n + 1, kwargs);
        Py_DECREF(function);
        return out;
    }
    PyObject* bound = PyObject_GetAttr(self, attribute);
    if (bound == NULL) return NULL;
    PyObject* out = PyObject_Call(bound, args, kwargs);
    Py_DECREF(bound);
    return out;
}

static inline PyObject* clay_call_of_module(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject* own = PyObject_GenericGetDict(self, NULL);
    if (own == NULL) return NULL;
    if (!clay_has_default_call(type, own)) {            /* Calling._call_impl enters the scope itself */
        Py_DECREF(own);
        if (PyErr_Occurred()) return NULL;
        return clay_call_attribute(self, _PyType_Lookup(type, clay_call), clay_call, args, kwargs);
    }
    PyObject* function = _PyType_Lookup(type, clay_forward);
    PyObject* out = NULL;
    clay_scope** running = clay_running();      /* a call begins and ends in the same thread */
    clay_scope* mine = clay_scope_enter(running, self);
    if (function == clay_sequential && PyTuple_GET_SIZE(args) == 1 && kwargs == NULL)
        out = clay_run_sequential(own, PyTuple_GET_ITEM(args, 0));
    Py_DECREF(own);
    if (out == NULL && !PyErr_Occurred()) out = clay_call_attribute(self, function, clay_forward, args, kwargs);
    clay_scope_leave(running, mine);
    return out;
}

static PyObject* clay_module_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* out = clay_call_of_module(self, args, kwargs);
    if (out == NULL) clay_explain("module", self, args);         /* Note [Entry points] */
    return out;
}

static void clay_use_native_call(PyTypeObject* type, int attributes, int call) {
    if (attributes) type->tp_getattro = clay_module_getattro;
    if (call) type->tp_call = clay_module_call;
}
