from libc.stdint cimport int64_t, uint8_t

cdef extern from "index/dense.hpp" namespace "clay" nogil:
    int64_t stretches(int64_t n) noexcept
    int64_t count_mask(const uint8_t*, int64_t, int64_t*) noexcept
    void pick_by_mask(const void*, const uint8_t*, void*, int64_t, const int64_t*, int64_t) noexcept
    void place_by_mask(const void*, const uint8_t*, const void*, void*, int64_t, const int64_t*, int64_t) noexcept
    void places_of_mask(const uint8_t*, const int64_t*, int, int64_t*, int64_t, int64_t, const int64_t*) noexcept
