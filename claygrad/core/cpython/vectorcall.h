/* Makes a type callable through the vectorcall field of its objects, `offset` bytes from their start, and a method descriptor where
   an object is an attribute of a class. Cython has no syntax for either. Python must not create such objects: the field would be empty. */
#pragma once
#include <Python.h>

#include "sealed.h"

static void clay_make_callable(PyTypeObject* type, Py_ssize_t offset) {
    type->tp_vectorcall_offset = offset;
    type->tp_call = PyVectorcall_Call;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    clay_seal(type);
}
