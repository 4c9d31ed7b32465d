// Elements that are only moved: dispatch on their size, not their type.
#pragma once
#include <stdint.h>

namespace clay {

struct Wide { int64_t parts[2]; };       // 16 bytes

// f(an element of this size)
template <class F> void by_size(int64_t item_size, F f) {
    switch (item_size) {
    case 1: return f(int8_t());
    case 2: return f(int16_t());
    case 4: return f(int32_t());
    case 8: return f(int64_t());
    case 16: return f(Wide());
    }
}

}  // namespace clay
