/* Makes a type callable through the vectorcall field of its objects, `offset` bytes from their start, and a method where a class
   has one as an attribute. Cython has no word for either. Python cannot make such objects: an empty field would be called. */
#pragma once
#include <Python.h>

#include "sealed.h"

static void clay_make_callable(PyTypeObject* type, Py_ssize_t offset) {
    type->tp_vectorcall_offset = offset;
    type->tp_call = PyVectorcall_Call;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    clay_seal(type);
}
