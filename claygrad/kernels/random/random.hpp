// Random numbers: the engine and the fills. Blocks are contiguous; dtype codes are those of core/data/dtype.pxd.
//
// Note [Streams]
// Every fill takes from the engine exactly the words PyTorch's CPU generator takes, in the same order, and turns
// them into values by the same arithmetic, so that equal seeds give equal tensors and leave equal engines behind.
// Where PyTorch fuses a multiplication with an addition the code here says fma, and nothing else may be fused.
// PyTorch's single-precision normals differ in the last bit between processors: here they are those of AVX2 everywhere.
#pragma once
#include <cstdint>

namespace clay {

// MT19937. `left` counts the words to draw before the next twist, plus one; `next` is the position of the next word.
// A normal draw on a few elements makes two values; the second waits in `normal`.
struct Engine {
    uint64_t seed;
    int32_t left;
    uint32_t next;
    uint32_t state[624];
    bool has_normal, has_normal_float;      // the float one only travels through saved states
    double normal;
    float normal_float;
};

constexpr int64_t STATE_BYTES = 5056;
void engine_seed(Engine& engine, uint64_t seed);
void engine_save(const Engine& engine, void* bytes);            // PyTorch's layout of torch.get_rng_state()
bool engine_load(Engine& engine, const void* bytes);            // false, and no change, if the state is not valid

// float16/32/64, bfloat16. uniform: [from, to), both representable.
void fill_uniform(Engine& engine, int dtype, void* out_n, int64_t n, double from, double to);
// blocks: the transform over blocks of 16 (needs n >= 16), else one by one in double.
void fill_normal(Engine& engine, int dtype, void* out_n, int64_t n, double mean, double std, bool blocks);
void fill_log_normal(Engine& engine, int dtype, void* out_n, int64_t n, double mean, double std);
void fill_exponential(Engine& engine, int dtype, void* out_n, int64_t n, double lambda);
void fill_cauchy(Engine& engine, int dtype, void* out_n, int64_t n, double median, double sigma);

// All real types.
void fill_geometric(Engine& engine, int dtype, void* out_n, int64_t n, double p);
void fill_bernoulli(Engine& engine, int dtype, void* out_n, int64_t n, double p);
// One probability an element; returns -1, or the position of the first that is not within [0, 1]: the draws stop there.
int64_t fill_bernoulli_each(Engine& engine, int dtype, void* out_n, int p_dtype, const void* p_n, int64_t n);
void fill_range(Engine& engine, int dtype, void* out_n, int64_t n, uint64_t range, int64_t base);
void fill_full_range(Engine& engine, int dtype, void* out_n, int64_t n);      // all 2**64 values of an int64
void fill_natural_range(Engine& engine, int dtype, void* out_n, int64_t n);   // [0, max] or [0, 2**digits]
void fill_permutation(Engine& engine, int dtype, void* out_n, int64_t n);

// Sample `count` categories from each of `rows` rows of weights; float16/32/64, bfloat16.
enum class Weights { good, negative, not_finite, no_mass };
Weights sample_with_replacement(Engine& engine, int dtype, const void* weights_rn, int64_t rows, int64_t n,
                                int64_t* out_rc, int64_t count);
// The `count` largest of weight / draw, largest first. Weights are checked before; draws are exponential.
void sample_without_replacement(int dtype, const void* weights_rn, const void* draws_rn, int64_t rows, int64_t n,
                                int64_t* out_rc, int64_t count);

// Draws with parameters of their own, one an element (random/sample.cpp). float32/64; poisson also float16 and bfloat16.
void draw_gamma(Engine& engine, int dtype, const void* shape_n, void* out_n, int64_t n);
void draw_gamma_wide(Engine& engine, int dtype, const void* shape_n, double* out_n, int64_t n);
// Returns -1, or the position of the first rate that is negative or NaN: the draws stop there.
int64_t draw_poisson(Engine& engine, int dtype, const void* rate_n, void* out_n, int64_t n);
void draw_binomial(Engine& engine, int dtype, const void* count_n, const void* chance_n, void* out_n, int64_t n);

// Derivatives of a draw by its parameter, at a fixed quantile (random/sample_grad.cpp). float32/64.
void gamma_grad(int dtype, const void* shape_n, const void* x_n, void* out_n, int64_t n);
void dirichlet_grad(int dtype, const void* x_n, const void* shape_n, const void* total_n, void* out_n, int64_t n);

}  // namespace clay
