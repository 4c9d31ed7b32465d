// The memory pool. Small blocks are cut from slabs and stay on free lists for ever. Large ones are returned to the system when more
// is cached than the program's peak, or than an eighth of the machine's memory.
//
// Note [Regions]
// Matrix products and copies are a few per cent faster in huge pages, but these have 2 MB. So smaller blocks, slabs among them, are cut
// from regions, which are mapped once and take physical memory only where they are written. When a block is returned to the system
// its pages are released, and its addresses are kept for the next block of that size class. Each block begins a few cache lines
// further into a page than the one before: with equal page offsets, loads would wait for unrelated stores (4K aliasing).
//
// Note [Watched pool]
// Observers of the peak or of every block cost nothing while there are none: no test asks for them. Existing limits are lowered
// instead, so that the slow path is taken. `mark`, above which counting bytes takes the slow path, is the peak, or -1 while every block
// is reported. `small_limit`, above which freeing a block takes the slow path, is SMALL, and `cache_most`, above which cached blocks
// are returned to the system, is the value of cache_limit(); both are -1 while every block is reported.
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/api.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#endif

namespace clay {
namespace {

constexpr int64_t ALIGN = 64, SMALL = 4096, SLAB = 1 << 18, HUGE_PAGE = 2 << 20;
constexpr int64_t CUT = 1 << 16, MAPPED = 4 << 20;       // min size of blocks cut from regions, and of blocks mapped by themselves
constexpr int64_t REGION = 64 << 20, STAGGER = 3 * ALIGN;

struct FreeSmall {
    FreeSmall* next;
};

// A cached large block stores its own links: in the list of its size class, and in the list of all blocks by age.
struct FreeLarge {
    FreeLarge *next, *previous, *newer, *older;
    int64_t bytes;
};

// The addresses in a region of a block whose pages were released
struct Place {
    Place* next;
    char* block;
};

FreeSmall* small_free[SMALL / ALIGN + 1];
char *slab = nullptr, *slab_end = nullptr;
constexpr int LARGE_CLASSES = 52 * 8;
FreeLarge* large_free[LARGE_CLASSES];
Place* indices[LARGE_CLASSES];
char *region = nullptr, *region_end = nullptr;
FreeLarge *newest = nullptr, *oldest = nullptr;
int64_t cached = 0;
PoolStats stats = {0, 0, 0};
int64_t mark = 0, small_limit = SMALL, cached_limit = 0, max_ever = 0;      // Note [Watched pool]
PoolWatch watch = {nullptr, nullptr, nullptr};

// Eight sizes per doubling: at most an eighth is wasted.
int64_t class_bytes(int64_t nbytes, int& index) {
    int bits = 63 - __builtin_clzll((uint64_t)(nbytes - 1));       // 2**bits < nbytes <= 2**(bits + 1)
    int64_t step = (int64_t)1 << (bits - 3), low = (int64_t)1 << bits;
    int64_t eighths = (nbytes - low + step - 1) / step;
    index = (bits - 11) * 8 + (int)eighths - 1;
    return low + eighths * step;
}

// In the sanitized build (`make sanitize`), bytes that were not requested or were freed are poisoned.
void* handed_out(void* block, int64_t nbytes, int64_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(block, (size_t)bytes);
    ASAN_POISON_MEMORY_REGION((char*)block + nbytes, (size_t)(bytes - nbytes));
    return block;
}

// With CLAYGRAD_PLAIN_MEMORY set, that build takes every block from malloc, which adds red zones and delays reuse: reads far past a
// block, or long after it was freed, are found too.
#if defined(__SANITIZE_ADDRESS__)
bool is_plain_malloc() {
    static const bool wanted = getenv("CLAYGRAD_PLAIN_MEMORY") != nullptr;
    return wanted;
}
#else
constexpr bool is_plain_malloc() { return false; }
#endif

// Unpoisons the bytes of a block that hold its links.
template <class Free>
Free* as_free_block(void* block, int64_t bytes) {
    ASAN_POISON_MEMORY_REGION(block, (size_t)bytes);
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof(Free));
    return (Free*)block;
}

// Aligned to huge pages: map more, then unmap both ends.
char* mapped(int64_t bytes) {
    const int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char* map = (char*)mmap(nullptr, (size_t)(bytes + HUGE_PAGE), access, kind, -1, 0);
    if (map == MAP_FAILED) return nullptr;
    char* block = (char*)(((uintptr_t)map + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (block > map) munmap(map, (size_t)(block - map));
    if (char* end = map + bytes + HUGE_PAGE; end > block + bytes) munmap(block + bytes, (size_t)(end - block - bytes));
#if defined(MADV_HUGEPAGE)
    madvise(block, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return block;
}

void* cut_from_region(int64_t bytes) {
    int index;
    class_bytes(bytes, index);
    if (Place* place = indices[index]) {
        char* block = place->block;
        indices[index] = place->next;
        free(place);
        return block;
    }
    if (region_end - region < bytes) {
        int64_t size = REGION;
        char* fresh = mapped(size);
        if (!fresh) fresh = mapped(size = MAPPED);            // the address space may be limited too
        if (!fresh) return nullptr;
        region = fresh, region_end = fresh + size;
    }
    char* block = region;
    region = region_end - region > bytes + STAGGER ? region + bytes + STAGGER : region_end;
    return block;
}

void back_to_region(char* block, int64_t bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)block + page - 1) & ~(page - 1), to = ((uintptr_t)block + (uintptr_t)bytes) & ~(page - 1);
    madvise((void*)from, to - from, MADV_DONTNEED);
    int index;
    class_bytes(bytes, index);
    if (auto place = (Place*)malloc(sizeof(Place))) {
        *place = {indices[index], block};
        indices[index] = place;
    }
}

void* from_system(int64_t bytes) {
    if (bytes >= MAPPED) return mapped(bytes);
    if (bytes >= CUT) return cut_from_region(bytes);
    void* block = nullptr;
    return posix_memalign(&block, ALIGN, (size_t)bytes) ? nullptr : block;
}

void to_system(void* block, int64_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(block, (size_t)bytes);
    stats.reserved -= bytes;
    if (bytes >= MAPPED) munmap(block, (size_t)bytes);
    else if (bytes >= CUT) back_to_region((char*)block, bytes);
    else free(block);
}

void unlink(FreeLarge* block) {
    int index;
    class_bytes(block->bytes, index);
    (block->previous ? block->previous->next : large_free[index]) = block->next;
    if (block->next) block->next->previous = block->previous;
    (block->newer ? block->newer->older : newest) = block->older;
    (block->older ? block->older->newer : oldest) = block->newer;
    cached -= block->bytes;
}

void release_until(int64_t largest) {
    while (oldest && cached > largest) {
        FreeLarge* block = oldest;
        unlink(block);
        to_system(block, block->bytes);
    }
}

int64_t cache_limit() {
    static const int64_t eighth = (int64_t)sysconf(_SC_PHYS_PAGES) / 8 * (int64_t)sysconf(_SC_PAGESIZE);
    int64_t wanted = max_ever > (64 << 20) ? max_ever : (64 << 20);
    return wanted < eighth ? wanted : eighth;
}

// Returns the block, so that it can be a tail call: no registers are saved around it.
__attribute__((noinline)) void* count_watched(void* block, int64_t bytes) {
    const bool higher = stats.allocated > stats.peak;
    if (higher) stats.peak = stats.allocated;
    if (stats.peak > max_ever) max_ever = stats.peak;
    mark = watch.allocated ? -1 : stats.peak;
    if (watch.allocated) watch.allocated(block, bytes);
    if (higher && watch.peak) watch.peak();
    return block;
}

inline __attribute__((always_inline)) void* counted(void* block, int64_t bytes) {
    stats.allocated += bytes;
    return stats.allocated > mark ? count_watched(block, bytes) : block;
}

void* cut_from_slab(int64_t bytes) {
    if (slab_end - slab < bytes) {
        // The rest of the old slab serves smaller requests.
        if (int64_t rest = (slab_end - slab) / ALIGN) {
            auto block = as_free_block<FreeSmall>(slab, rest * ALIGN);
            block->next = small_free[rest];
            small_free[rest] = block;
        }
        slab = (char*)from_system(SLAB);
        if (!slab) return slab_end = nullptr;
        slab_end = slab + SLAB;
        ASAN_POISON_MEMORY_REGION(slab, (size_t)SLAB);
        stats.reserved += SLAB;
    }
    char* block = slab;
    slab += bytes;
    return block;
}

void* alloc_large(int64_t nbytes) {
    if (nbytes > (int64_t)1 << 50) return nullptr;
    int index;
    int64_t bytes = class_bytes(nbytes, index);
    void* block = large_free[index];
    if (block) {
        unlink((FreeLarge*)block);
    } else {
        block = from_system(bytes);
        if (!block) {
            pool_trim();
            block = from_system(bytes);
        }
        if (!block) return nullptr;
        stats.reserved += bytes;
    }
    return counted(handed_out(block, nbytes, bytes), bytes);
}

__attribute__((noinline)) void free_large_watched(void* block, int64_t bytes) {
    if (watch.freed) watch.freed(block, bytes);
    const int64_t largest = cache_limit();
    cached_limit = watch.freed ? -1 : largest;
    if (cached > largest) release_until(largest);
}

void free_large(void* ptr, int64_t nbytes) {
    int index;
    int64_t bytes = class_bytes(nbytes, index);
    stats.allocated -= bytes;
    auto block = as_free_block<FreeLarge>(ptr, bytes);
    block->bytes = bytes;
    block->next = large_free[index], block->previous = nullptr;
    if (block->next) block->next->previous = block;
    large_free[index] = block;
    block->older = newest, block->newer = nullptr;
    (newest ? newest->newer : oldest) = block;
    newest = block;
    cached += bytes;
    if (cached > cached_limit) free_large_watched(ptr, bytes);
}

inline __attribute__((always_inline)) int64_t units_of(int64_t nbytes) { return nbytes > 0 ? (nbytes + ALIGN - 1) / ALIGN : 1; }

inline __attribute__((always_inline)) void free_small(void* ptr, int64_t nbytes) {
    const int64_t units = units_of(nbytes);
    auto block = as_free_block<FreeSmall>(ptr, units * ALIGN);
    block->next = small_free[units];
    small_free[units] = block;
    stats.allocated -= units * ALIGN;
}

__attribute__((noinline)) void free_other(void* ptr, int64_t nbytes) {
    if (nbytes > SMALL) return free_large(ptr, nbytes);
    free_small(ptr, nbytes);
    if (watch.freed) watch.freed(ptr, units_of(nbytes) * ALIGN);
}

}  // namespace

void* pool_alloc(int64_t nbytes) {
    if (is_plain_malloc()) {
        void* block = nullptr;
        return nbytes > (int64_t)1 << 50 || posix_memalign(&block, ALIGN, (size_t)nbytes) ? nullptr : block;
    }
    if (nbytes > SMALL) return alloc_large(nbytes);
    if (nbytes < 0) return nullptr;                       // a size that overflowed
    int64_t units = units_of(nbytes);
    void* block = small_free[units];
    if (block) small_free[units] = ((FreeSmall*)block)->next;
    else if (!(block = cut_from_slab(units * ALIGN))) return nullptr;
    return counted(handed_out(block, nbytes, units * ALIGN), units * ALIGN);
}

void pool_free(void* ptr, int64_t nbytes) {
    if (!ptr) return;
    if (is_plain_malloc()) return free(ptr);
    if (nbytes > small_limit) return free_other(ptr, nbytes);
    free_small(ptr, nbytes);
}

int64_t pool_block(int64_t nbytes) {
    int index;
    return nbytes > SMALL ? class_bytes(nbytes, index) : units_of(nbytes) * ALIGN;
}

void pool_watch(PoolWatch by) {
    watch = by;
    mark = by.allocated ? -1 : stats.peak;
    small_limit = by.freed ? -1 : SMALL;
    cached_limit = by.freed ? -1 : cache_limit();
}

void pool_reset_peak() {
    stats.peak = stats.allocated;
    mark = watch.allocated ? -1 : stats.peak;
    if (watch.peak) watch.peak();
}

PoolStats pool_stats() { return stats; }

void pool_trim() { release_until(0); }

}  // namespace clay
