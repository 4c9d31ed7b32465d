/* What stands behind a door (Note [Leaving]) is called there alone, and put in place by the compiler: the door costs a comparison. */
#pragma once
#if defined(__GNUC__)
#define CLAY_BEHIND_A_DOOR __attribute__((always_inline)) static inline
#else
#define CLAY_BEHIND_A_DOOR static
#endif
