/* The code object and byte offset of the nearest Python frame outside claygrad, without making a frame object. */
#pragma once
#include <Python.h>
#ifdef __cplusplus
extern "C" {
#endif
/* A new reference to the code object, or NULL (no Python frame). */
PyObject* clay_where(int* lasti);
/* Frames of files below this directory belong to claygrad. */
void clay_set_home(PyObject* directory);
#ifdef __cplusplus
}
#endif
