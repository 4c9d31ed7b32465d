// Small matrices in scratch memory: rows are padded with zeros to whole vectors, so that no loop over a row has a remainder.
#pragma once
#include <string.h>

#include "platform/dtypes.hpp"
#include "platform/api.hpp"
#include "simd/lines.hpp"
#include "linalg/linalg.hpp"
#include "platform/scratch.hpp"
#include "simd/transpose.hpp"

namespace clay {
namespace CLAY_ISA {
namespace {

template <class T> constexpr int CODE = sizeof(T) == 4 ? F32 : F64;
template <class T> constexpr int64_t LANES = Lanes<vec<T>>::width;

// The row stride. Strides that are powers of two would map all rows to a few cache sets.
template <class T> int64_t row_length(int64_t n) {
    int64_t length = (n + LANES<T> - 1) / LANES<T> * LANES<T>;
    if (length * (int64_t)sizeof(T) % 1024 == 0) length += LANES<T> > 1 ? LANES<T> : 8;
    return length;
}

template <class T> const T* matrix_at(const Matrices& s, int64_t t) { return (const T*)s.data + t * s.step; }
template <class T> T* place_at(const Matrices& s, int64_t t) { return (T*)s.data + t * s.step; }

// Copies matrix t of a batch into scratch.
template <class T> void take_in(const Matrices& s, int64_t t, int64_t rows, int64_t columns, T* w, int64_t ldw) {
    using V = vec<T>;
    const T* a = matrix_at<T>(s, t);
    const V none = splat<V>(0);
    if (s.column == 1) {
        for (int64_t i = 0; i < rows; i++) {
            const T* row = a + i * s.row;
            int64_t j = 0;
            for (; j + LANES<T> <= columns; j += LANES<T>) store<V>(w + i * ldw + j, load<V>(row + j));
            if (j < columns) store<V>(w + i * ldw + j, load_part<V>(row + j, columns - j, none));
        }
        return;
    }
    for (int64_t i = 0; i < rows; i++) store<V>(w + i * ldw + (columns - 1) / LANES<T> * LANES<T>, none);
    if (LANES<T> > 1 && s.row == 1 && rows >= LANES<T> / 2) return transpose(a, s.column, w, ldw, columns, rows);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) w[i * ldw + j] = a[i * s.row + j * s.column];
}

// Copies it back.
template <class T> void put_out(const Matrices& s, int64_t t, int64_t rows, int64_t columns, const T* w, int64_t ldw) {
    using V = vec<T>;
    T* a = place_at<T>(s, t);
    if (s.column == 1) {
        for (int64_t i = 0; i < rows; i++)
            along<T>(columns, [&](int64_t j, int64_t m) { put<V>(a + i * s.row + j, load<V>(w + i * ldw + j), m); });
        return;
    }
    if (LANES<T> > 1 && s.row == 1 && columns >= LANES<T> / 2) return transpose(w, ldw, a, s.column, rows, columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) a[i * s.row + j * s.column] = w[i * ldw + j];
}

// y -= f x over whole vectors from the one that holds column `from`; columns before it keep their values.
template <class T> inline void subtract_from(T* y, const T* x, T f, int64_t from, int64_t length) {
    using V = vec<T>;
    const V by = splat<V>(-f);
    int64_t j = from / LANES<T> * LANES<T>;
    if (j < from) {
        const V old = load<V>(y + j);
        store<V>(y + j, part(old, from - j, multiply_add(by, load<V>(x + j), old)));
        j += LANES<T>;
    }
    for (; j < length; j += LANES<T>) store<V>(y + j, multiply_add(by, load<V>(x + j), load<V>(y + j)));
}

// f(t, memory) for every matrix, with scratch for `count` numbers; false if out of memory.
template <class T, class F> bool each_matrix(int64_t n, int64_t work, int64_t count, F f) {
    struct Job {
        F& f;
        size_t bytes;
        bool done;
    } job{f, (size_t)(count + 64) * sizeof(T), true};
    parallel_for(n, 1 + 65536 / (work + 1), [](void* data, int64_t begin, int64_t end) {
        static thread_local Room kept;
        Job& j = *(Job*)data;
        T* memory = (T*)kept.get(j.bytes);
        for (int64_t t = begin; memory && t < end; t++) j.f(t, memory);
        if (!memory) __atomic_store_n(&j.done, false, __ATOMIC_RELAXED);
        kept.give_back();
    }, &job);
    return job.done;
}

}  // namespace
}  // namespace CLAY_ISA
}  // namespace clay
