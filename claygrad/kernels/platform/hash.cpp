// A 64-bit hash of a block's bytes. A change within one 8-byte word always changes it; others with probability 1 - 2**-64.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "platform/api.hpp"
#include "platform/threads.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace {

constexpr int64_t PART = 1 << 18;        // bytes hashed independently, so that threads can share the work
constexpr uint64_t ODD[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};

uint64_t word(const char* p) {
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

// Each step is a bijection of the lane for a given word, and of the word for a given lane.
uint64_t mix(uint64_t lane, uint64_t w, uint64_t odd) {
    lane = ((lane << 29 | lane >> 35) ^ w) * odd;
    return lane ^ lane >> 32;
}

uint64_t mark(const char* p, int64_t nbytes) {
    uint64_t lanes[4] = {ODD[1], ODD[2], ODD[3], ODD[0] ^ (uint64_t)nbytes};
    for (; nbytes >= 32; p += 32, nbytes -= 32)
        for (int i = 0; i < 4; i++) lanes[i] = mix(lanes[i], word(p + 8 * i), ODD[i]);
    char tail[32] = {};
    memcpy(tail, p, (size_t)nbytes);
    for (int i = 0; i < 4; i++) lanes[i] = mix(lanes[i], word(tail + 8 * i), ODD[i]);
    uint64_t all = 0;
    for (int i = 0; i < 4; i++) all = mix(all, lanes[i], ODD[i]);
    return all;
}

struct Job {
    const char* bytes;
    int64_t nbytes;
    uint64_t* marks;

    uint64_t part(int64_t i) const {
        int64_t left = nbytes - i * PART;
        return mark(bytes + i * PART, left < PART ? left : PART);
    }
};

void mark_parts(void* data, int64_t begin, int64_t end) {
    const Job& job = *(const Job*)data;
    for (int64_t i = begin; i < end; i++) job.marks[i] = job.part(i);
}

}  // namespace

uint64_t fingerprint(const void* bytes, int64_t nbytes) {
    if (nbytes <= PART) return mark((const char*)bytes, nbytes);
    int64_t parts = ceil_div(nbytes, PART);
    Job job{(const char*)bytes, nbytes, (uint64_t*)malloc((size_t)parts * 8)};
    if (job.marks) parallel_for(parts, 1, mark_parts, &job);
    uint64_t all = ODD[0];
    for (int64_t i = 0; i < parts; i++) all = mix(all, job.marks ? job.marks[i] : job.part(i), ODD[1]);
    free(job.marks);
    return all;
}

}  // namespace clay
