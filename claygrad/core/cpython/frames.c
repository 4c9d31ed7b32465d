#include "frames.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define CLAY_FAST_FRAMES 1
#define Py_BUILD_CORE 1
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#endif

/* Whether a code object is claygrad's own: asked for every recorded operation, so remembered per code object.
   An entry keeps its code object alive, so that an address cannot come to mean another one. */
typedef struct { PyObject* code; int ours; } Entry;
static Entry cache[1024];
static PyObject* home = NULL;

void clay_set_home(PyObject* directory) {
    Py_INCREF(directory);
    Py_XSETREF(home, directory);
}

static int is_ours(PyCodeObject* code) {
    Entry* e = &cache[((size_t)code >> 5) & 1023];
    if (e->code == (PyObject*)code) return e->ours;
    int ours = home != NULL && PyUnicode_Tailmatch(code->co_filename, home, 0, PY_SSIZE_T_MAX, -1) == 1;
    Py_INCREF(code);
    PyObject* old = e->code;
    e->code = (PyObject*)code;
    e->ours = ours;
    Py_XDECREF(old);
    return ours;
}

#ifdef CLAY_FAST_FRAMES
PyObject* clay_where(int* lasti) {
    PyThreadState* state = PyThreadState_GET();
    _PyInterpreterFrame* f = state->cframe ? state->cframe->current_frame : NULL;
    _PyInterpreterFrame* first = f;
    while (f != NULL && is_ours(f->f_code)) f = f->previous;
    if (f == NULL) f = first;
    if (f == NULL) return NULL;
    *lasti = _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT);
    Py_INCREF(f->f_code);
    return (PyObject*)f->f_code;
}
#else
PyObject* clay_where(int* lasti) {
    PyFrameObject* f = PyEval_GetFrame();
    PyFrameObject* first = f;
    PyCodeObject* code = NULL;
    Py_XINCREF(f);
    Py_XINCREF(first);
    while (f != NULL) {
        code = PyFrame_GetCode(f);
        if (!is_ours(code)) break;
        Py_CLEAR(code);
        Py_SETREF(f, PyFrame_GetBack(f));
    }
    if (f == NULL && first != NULL) {
        f = first;
        Py_INCREF(f);
        code = PyFrame_GetCode(f);
    }
    if (f != NULL) *lasti = PyFrame_GetLasti(f);
    Py_XDECREF(f);
    Py_XDECREF(first);
    return (PyObject*)code;
}
#endif

/* The variables of a function's frame by name, without the snapshot that `frame.f_locals` leaves in it: that would keep them alive
   for as long as the frame. None where `frame.f_locals` leaves none, from Python 3.13 on. */
#ifdef CLAY_FAST_FRAMES
PyObject* clay_variables(PyObject* frame) {
    if (!PyFrame_Check(frame)) return PyErr_Format(PyExc_TypeError, "variables_of() takes a frame");
    _PyInterpreterFrame* f = ((PyFrameObject*)frame)->f_frame;
    PyCodeObject* code = f->f_code;
    PyObject* out = PyDict_New();
    for (int i = 0; out != NULL && i < code->co_nlocalsplus; i++) {
        PyObject* value = f->localsplus[i];
        const int kind = PyBytes_AS_STRING(code->co_localspluskinds)[i] & 0xff;
        if (value != NULL && (kind & 0xc0) && PyCell_Check(value)) value = PyCell_GET(value);     /* of a closure: free or shared */
        if (value != NULL && PyDict_SetItem(out, PyTuple_GET_ITEM(code->co_localsplusnames, i), value) < 0) Py_CLEAR(out);
    }
    return out;
}
#elif PY_VERSION_HEX < 0x030D0000
static int add_variables(PyObject* out, PyFrameObject* frame, PyObject* names) {       /* steals the tuple of names */
    if (names == NULL) return -1;
    int bad = 0;
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(names); i++) {
        PyObject* value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(names, i));
        if (value != NULL) bad = PyDict_SetItem(out, PyTuple_GET_ITEM(names, i), value) < 0;
        else if (PyErr_ExceptionMatches(PyExc_NameError)) PyErr_Clear();                /* it has no value yet, or none any more */
        else bad = 1;
        Py_XDECREF(value);
    }
    Py_DECREF(names);
    return bad ? -1 : 0;
}

PyObject* clay_variables(PyObject* frame) {
    if (!PyFrame_Check(frame)) return PyErr_Format(PyExc_TypeError, "variables_of() takes a frame");
    PyCodeObject* code = PyFrame_GetCode((PyFrameObject*)frame);
    PyObject* out = PyDict_New();
    if (out != NULL && (add_variables(out, (PyFrameObject*)frame, PyCode_GetVarnames(code)) < 0 ||
                        add_variables(out, (PyFrameObject*)frame, PyCode_GetCellvars(code)) < 0 ||
                        add_variables(out, (PyFrameObject*)frame, PyCode_GetFreevars(code)) < 0)) Py_CLEAR(out);
    Py_DECREF(code);
    return out;
}
#else
PyObject* clay_variables(PyObject* frame) { Py_RETURN_NONE; }
#endif
