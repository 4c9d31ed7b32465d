// Convolution of few elements: a row of windows at a time, nothing is packed.
#include "conv/conv.hpp"

#include <string.h>

#include "platform/dtypes.hpp"
#include "simd/ints.hpp"

namespace clay {
namespace {

constexpr int64_t LONGEST = 16;            // largest kernel, along an axis

// For each kernel element along an axis: the windows in which it meets the input, and the input index for the first of these
struct Taps {
    int64_t low[LONGEST], high[LONGEST], at[LONGEST];
    Taps(const Volume& s, int axis) {
        const int64_t stride = s.stride[axis], size = s.size[axis], out = s.out[axis];
        for (int64_t j = 0; j < s.kernel[axis]; j++) {
            const int64_t first = j * s.dilation[axis] - s.pad[axis], left = size - first;
            low[j] = first < 0 ? ceil_div(-first, stride) : 0;
            high[j] = left <= 0 ? 0 : ceil_div(left, stride);
            if (high[j] > out) high[j] = out;
            if (low[j] > high[j]) low[j] = high[j];
            at[j] = first;
        }
    }
};

// f(offset in the weight, in the input channel, in the output channel, count) for every run of windows along the last axis in which
// one kernel element meets the input
template <class F> void each_run(const Volume& s, const Taps* taps, F f) {
    int64_t tap = 0;
    for (int64_t u = 0; u < s.kernel[0]; u++)
        for (int64_t y = 0; y < s.kernel[1]; y++)
            for (int64_t z = 0; z < s.kernel[2]; z++, tap++) {
                const int64_t low = taps[2].low[z], count = taps[2].high[z] - low;
                if (!count) continue;
                for (int64_t d = taps[0].low[u]; d < taps[0].high[u]; d++)
                    for (int64_t r = taps[1].low[y]; r < taps[1].high[y]; r++) {
                        const int64_t row = (d * s.stride[0] + taps[0].at[u]) * s.size[1] + r * s.stride[1] + taps[1].at[y];
                        f(tap, row * s.size[2] + low * s.stride[2] + taps[2].at[z], (d * s.out[1] + r) * s.out[2] + low, count);
                    }
            }
}

template <class T> void small(const Volume& s, ConvolutionPass pass, const T* a, const T* b, T* result) {
    const Taps taps[3] = {Taps(s, 0), Taps(s, 1), Taps(s, 2)};
    const int64_t size = s.size[0] * s.size[1] * s.size[2], out = s.out[0] * s.out[1] * s.out[2];
    const int64_t kernel = s.kernel[0] * s.kernel[1] * s.kernel[2], c = s.c / s.groups, o = s.o / s.groups, step = s.stride[2];
    const T* bias = (const T*)s.bias;
    if (pass == FORWARD)
        for (int64_t i = 0; i < s.n * s.o * out; i++) result[i] = bias ? bias[i / out % s.o] : 0;
    else
        memset(result, 0, (pass == TO_INPUT ? s.n * s.c * size : s.o * c * kernel) * sizeof(T));
    for (int64_t n = 0; n < s.n; n++)
        for (int64_t i = 0; i < s.o; i++)
            for (int64_t j = 0; j < c; j++) {
                const int64_t x_at = (n * s.c + i / o * c + j) * size, y_at = (n * s.o + i) * out, w_at = (i * c + j) * kernel;
                each_run(s, taps, [&](int64_t tap, int64_t from, int64_t to, int64_t count) {
                    if (pass == FORWARD) {
                        const T *x = a + x_at + from, w = b[w_at + tap];
                        T* y = result + y_at + to;
                        for (int64_t q = 0; q < count; q++) y[q] += w * x[q * step];
                    } else if (pass == TO_INPUT) {
                        const T *y = a + y_at + to, w = b[w_at + tap];
                        T* x = result + x_at + from;
                        for (int64_t q = 0; q < count; q++) x[q * step] += w * y[q];
                    } else {
                        const T *x = a + x_at + from, *y = b + y_at + to;
                        T sum = 0;
                        for (int64_t q = 0; q < count; q++) sum += x[q * step] * y[q];
                        result[w_at + tap] += sum;
                    }
                });
            }
}

}  // namespace

bool convolve_small(int dtype, const Volume* shape, ConvolutionPass pass, const void* a, const void* b, void* out) {
    for (int axis = 0; axis < 3; axis++)
        if (shape->kernel[axis] > LONGEST) return false;
    if (dtype == F32) small(*shape, pass, (const float*)a, (const float*)b, (float*)out);
    else small(*shape, pass, (const double*)a, (const double*)b, (double*)out);
    return true;
}

namespace {

template <class T> void add_to_channels(T* out, int64_t n, int64_t c, int64_t length, const T* bias) {
    for (int64_t i = 0; i < n * c; i++, out += length) {
        const T more = bias[i % c];
        for (int64_t k = 0; k < length; k++) out[k] += more;
    }
}

}  // namespace

void add_bias(int dtype, void* out, int64_t n, int64_t c, int64_t length, const void* bias) {
    if (dtype == F32) add_to_channels((float*)out, n, c, length, (const float*)bias);
    else add_to_channels((double*)out, n, c, length, (const double*)bias);
}

}  // namespace clay
