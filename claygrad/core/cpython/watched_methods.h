/* Note [Watched methods]
   The compiled methods and attributes of Tensor (size, detach, shape, grad ...) must hand over to __torch_function__ when their
   tensor is of a subclass or a function mode is active, and cost nothing more while neither exists. A method descriptor calls the
   function that its PyMethodDef names, and an attribute those of its PyGetSetDef; both structs are ours, and Python reads them at
   every call (also its specialised instructions do). So watching means to write other functions there, and to stop watching to
   write the old ones back. Descriptors, their flags and the type stay as they are: objects that somebody holds, such as
   Tensor.size or Tensor.shape.__get__, behave like new ones.

   The function that stands in for a method is not told which method it is, so there is one for each number below. An attribute
   has a closure, which Cython leaves unused: there its number goes.
   The invariant: while `clay_watched` is 1, every def in the tables points to a function of this file, and
   else to its own. Written under the interpreter lock, by clay_watch_methods alone.
   Tested by tests/survival/test_watched_methods.py. */
#pragma once
#include <Python.h>

enum { CLAY_MAX_WATCHED = 64, CLAY_ARGS = 24 };

/* Asks __torch_function__. `answered`: it answered, and this is its result. */
static PyObject* (*clay_ask)(PyObject* function, PyObject** args, Py_ssize_t n, PyObject* kwnames, int* answered) = NULL;

static int clay_watched = 0;
static int clay_method_count = 0, clay_attribute_count = 0;
static struct { PyMethodDef* def; PyCFunction own; PyObject* descriptor; } clay_methods[CLAY_MAX_WATCHED];
static struct { PyGetSetDef* def; getter get; setter set; void* closure; PyObject* accessors[3]; } clay_attributes[CLAY_MAX_WATCHED];

static PyObject* clay_method_n(int i, PyObject* self, PyObject* const* given, Py_ssize_t n, PyObject* kwnames) {
    PyObject* args[CLAY_ARGS];
    Py_ssize_t all = n + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    if (all < CLAY_ARGS) {
        int answered = 0;
        args[0] = self;
        for (Py_ssize_t k = 0; k < all; k++) args[k + 1] = given[k];
        PyObject* out = clay_ask(clay_methods[i].descriptor, args, n + 1, kwnames, &answered);
        if (answered || out == NULL) return out;
        Py_DECREF(out);
    }
    typedef PyObject* (*fastcall)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
    return ((fastcall)(void (*)(void))clay_methods[i].own)(self, given, n, kwnames);
}

#define CLAY_ALL(f) \
    f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) \
    f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) \
    f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) \
    f(30) f(31) f(32) f(33) f(34) f(35) f(36) f(37) f(38) f(39)
#define CLAY_STAND_IN(i) \
    static PyObject* clay_method_##i(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) { \
        return clay_method_n(i, self, args, n, kwnames); \
    }
CLAY_ALL(CLAY_STAND_IN)
#define CLAY_NAMED(i) (PyCFunction)(void (*)(void))clay_method_##i,
static const PyCFunction clay_stand_ins[] = {CLAY_ALL(CLAY_NAMED)};
enum { CLAY_STAND_INS = sizeof(clay_stand_ins) / sizeof(clay_stand_ins[0]) };

enum { CLAY_GET, CLAY_SET, CLAY_DELETE };
static const char* clay_accessor_names[3] = {"__get__", "__set__", "__delete__"};      /* the names that __torch_function__ gets: Tensor.shape.__get__ */

static PyObject* clay_get(PyObject* self, void* number) {
    int answered = 0, i = (int)(Py_ssize_t)number;
    PyObject* out = clay_ask(clay_attributes[i].accessors[CLAY_GET], &self, 1, NULL, &answered);
    if (answered || out == NULL) return out;
    Py_DECREF(out);
    return clay_attributes[i].get(self, clay_attributes[i].closure);
}

static int clay_set(PyObject* self, PyObject* value, void* number) {
    PyObject* args[2] = {self, value};
    int answered = 0, i = (int)(Py_ssize_t)number;
    PyObject* accessor = clay_attributes[i].accessors[value == NULL ? CLAY_DELETE : CLAY_SET];
    PyObject* out = clay_ask(accessor, args, value == NULL ? 1 : 2, NULL, &answered);
    if (out == NULL) return -1;
    Py_DECREF(out);
    return answered ? 0 : clay_attributes[i].set(self, value, clay_attributes[i].closure);
}

/* Fills the tables with the methods and attributes of the type, except those in `left_out`. */
static int clay_learn_methods(PyTypeObject* type, PyObject* left_out) {
    for (PyMethodDef* def = type->tp_methods; def != NULL && def->ml_name != NULL; def++) {
        PyObject* descriptor = PyDict_GetItemString(type->tp_dict, def->ml_name);
        PyObject* name = PyUnicode_FromString(def->ml_name);
        int skip = name == NULL ? -1 : PySet_Contains(left_out, name);
        Py_XDECREF(name);
        if (skip < 0) return -1;
        if (skip || descriptor == NULL || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) continue;
        if (clay_method_count == CLAY_STAND_INS || (def->ml_flags & ~METH_COEXIST) != (METH_FASTCALL | METH_KEYWORDS)) {
            PyErr_Format(PyExc_SystemError, "no stand-in for the method %s", def->ml_name);
            return -1;
        }
        clay_methods[clay_method_count].def = def;
        clay_methods[clay_method_count].own = def->ml_meth;
        clay_methods[clay_method_count].descriptor = Py_NewRef(descriptor);
        clay_method_count++;
    }
    for (PyGetSetDef* def = type->tp_getset; def != NULL && def->name != NULL; def++) {
        PyObject* descriptor = PyDict_GetItemString(type->tp_dict, def->name);
        PyObject* name = PyUnicode_FromString(def->name);
        int skip = name == NULL ? -1 : PySet_Contains(left_out, name);
        Py_XDECREF(name);
        if (skip < 0) return -1;
        if (skip || descriptor == NULL || !Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) continue;
        if (clay_attribute_count == CLAY_MAX_WATCHED) {
            PyErr_SetString(PyExc_SystemError, "too many attributes to watch");
            return -1;
        }
        clay_attributes[clay_attribute_count].def = def;
        clay_attributes[clay_attribute_count].get = def->get;
        clay_attributes[clay_attribute_count].set = def->set;
        clay_attributes[clay_attribute_count].closure = def->closure;
        for (int accessor = 0; accessor < 3; accessor++) {
            PyObject* function = PyObject_GetAttrString(descriptor, clay_accessor_names[accessor]);
            if (function == NULL) return -1;
            clay_attributes[clay_attribute_count].accessors[accessor] = function;
        }
        clay_attribute_count++;
    }
    return 0;
}

static void clay_watch_methods(int on) {
    clay_watched = on;
        for (int i = 0; i < clay_method_count; i++)
        clay_methods[i].def->ml_meth = on ? clay_stand_ins[i] : clay_methods[i].own;
    for (int i = 0; i < clay_attribute_count; i++) {
        PyGetSetDef* def = clay_attributes[i].def;
        def->closure = on ? (void*)(Py_ssize_t)i : clay_attributes[i].closure;
        def->get = on ? clay_get : clay_attributes[i].get;
        def->set = on && clay_attributes[i].set != NULL ? clay_set : clay_attributes[i].set;
    }
}
