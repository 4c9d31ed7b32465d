/* For a function that only its entry point calls (Note [Entry points]): inlined, so that the entry point costs one comparison. */
#pragma once
#if defined(__GNUC__)
#define CLAY_ENTRY_INLINE __attribute__((always_inline)) static inline
#else
#define CLAY_ENTRY_INLINE static
#endif
