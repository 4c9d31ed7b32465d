/* An allocator for NumPy over claygrad's memory pool: arrays made by reference forwards use the same cached blocks as native
   kernels. NumPy calls these functions with the interpreter lock held. */
#pragma once
#include <string.h>

#include "platform/api.hpp"

/* realloc is not given the old size, so each block begins with its size. */
enum { CLAY_FRONT = 64 };

static void* clay_numpy_malloc(void*, size_t size) {
    char* block = size > (size_t)1 << 50 ? NULL : (char*)clay::pool_alloc((int64_t)size + CLAY_FRONT);
    if (!block) return NULL;
    *(size_t*)block = size;
    return block + CLAY_FRONT;
}

static void clay_numpy_free(void*, void* data, size_t) {
    if (!data) return;
    char* block = (char*)data - CLAY_FRONT;
    clay::pool_free(block, (int64_t)*(size_t*)block + CLAY_FRONT);
}

static void* clay_numpy_calloc(void* ctx, size_t count, size_t each) {
    if (each && count > ((size_t)1 << 50) / each) return NULL;
    void* data = clay_numpy_malloc(ctx, count * each);
    return data ? memset(data, 0, count * each) : NULL;
}

static void* clay_numpy_realloc(void* ctx, void* data, size_t size) {
    void* larger = clay_numpy_malloc(ctx, size);
    if (larger && data) {
        size_t before = *(size_t*)((char*)data - CLAY_FRONT);
        memcpy(larger, data, before < size ? before : size);
        clay_numpy_free(ctx, data, before);
    }
    return larger;
}

static PyDataMem_Handler clay_numpy_handler = {
    "claygrad_pool", 1, {NULL, clay_numpy_malloc, clay_numpy_calloc, clay_numpy_realloc, clay_numpy_free}};

/* For the current context. An array remembers its allocator. */
static int clay_use_pool_for_numpy() {
    PyObject* capsule = PyCapsule_New(&clay_numpy_handler, "mem_handler", NULL);
    if (!capsule) return -1;
    PyObject* before = PyDataMem_SetHandler(capsule);
    Py_DECREF(capsule);
    Py_XDECREF(before);
    return before ? 0 : -1;
}
