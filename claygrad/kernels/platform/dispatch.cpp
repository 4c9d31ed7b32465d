// Chooses the instruction set of this process, and finds kernels by name.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "platform/dtypes.hpp"
#include "platform/api.hpp"

namespace clay {

namespace base { extern const IsaSet isa_set; }
#if defined(CLAY_WIDE_SETS)
namespace avx2 { extern const IsaSet isa_set; }
namespace avx512 { extern const IsaSet isa_set; }
#endif
#if defined(CLAY_PORTABLE)               // its name: neon on ARM
namespace CLAY_PORTABLE { extern const IsaSet isa_set; }
#endif
#if defined(CLAY_AVX512_BF16)
namespace avx512_bf16 { extern const Kernel gemm_kernels[]; }
#endif

namespace {

#if defined(CLAY_AVX512_BF16)
// avx512 with native bfloat16 products: filled in at the start
IsaSet with_bf16;
#endif

void* libmvec = nullptr;
void* look_in_libmvec(const char* name) { return libmvec ? dlsym(libmvec, name) : nullptr; }

// Best first.
const IsaSet* const sets[] = {
#if defined(CLAY_AVX512_BF16)
    &with_bf16,
#endif
#if defined(CLAY_WIDE_SETS)
    &avx512::isa_set,
    &avx2::isa_set,
#endif
#if defined(CLAY_PORTABLE)
    &CLAY_PORTABLE::isa_set,
#endif
    &base::isa_set,
};

bool machine_has(const IsaSet& set) {
#if defined(CLAY_WIDE_SETS)
    __builtin_cpu_init();
#if defined(CLAY_AVX512_BF16)
    if (&set == &with_bf16) return machine_has(avx512::isa_set) && __builtin_cpu_supports("avx512bf16");
#endif
    if (&set == &avx2::isa_set)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (&set == &avx512::isa_set)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
#if defined(CLAY_PORTABLE)
    if (&set == &CLAY_PORTABLE::isa_set) return true;
#endif
    return &set == &base::isa_set;
}

const IsaSet* best() {
    const char* wanted = getenv("CLAYGRAD_ISA");
    for (const IsaSet* set : sets)
        if (machine_has(*set) && (!wanted || !strcmp(wanted, set->name))) return set;
    for (const IsaSet* set : sets)
        if (machine_has(*set)) return set;
    return &base::isa_set;
}

const IsaSet* start() {
#if defined(CLAY_AVX512_BF16)
    with_bf16 = avx512::isa_set;
    with_bf16.name = "avx512_bf16", with_bf16.gemm_bf16 = avx512_bf16::gemm_kernels;
#endif
    libmvec = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    for (const IsaSet* set : sets)
        if (machine_has(*set)) set->bind_math(look_in_libmvec);
    return best();
}

const IsaSet*& current() {
    static const IsaSet* set = start();
    return set;
}

}  // namespace

const IsaSet& current_isa() { return *current(); }

const char* isa() { return current()->name; }

bool use_isa(const char* name) {
    const IsaSet*& selected = current();   // from here on all sets are filled in
    for (const IsaSet* set : sets)
        if (!strcmp(set->name, name) && machine_has(*set)) {
            selected = set;
            return true;
        }
    return false;
}

const Kernel* find_entry(const char* family, const char* name, int dtype) {
    const IsaSet& set = *current();
    for (int64_t f = 0; f < set.count; f++) {
        if (strcmp(set.families[f].name, family)) continue;
        for (int64_t k = 0; k < set.families[f].count; k++) {
            const Kernel& kernel = set.families[f].kernels[k];
            if (kernel.dtype == dtype && !strcmp(kernel.name, name)) return &kernel;
        }
    }
    return nullptr;
}

void* find(const char* family, const char* name, int dtype) {
    const Kernel* entry = find_entry(family, name, dtype);
    return entry ? entry->function : nullptr;
}

}  // namespace clay
