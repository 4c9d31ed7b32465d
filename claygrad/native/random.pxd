from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from claygrad.core.data.device cimport device
from claygrad.core.data.layout cimport Layout

cdef extern from "random/random.hpp" namespace "clay" nogil:
    struct Engine:
        uint64_t seed

    enum:
        STATE_BYTES
    void engine_seed(Engine& engine, uint64_t seed) noexcept
    void engine_save(const Engine& engine, void* data) noexcept
    bint engine_load(Engine& engine, const void* data) noexcept

    void fill_uniform(Engine& engine, int dtype, void* out, int64_t n, double low, double high) noexcept
    void fill_normal(Engine& engine, int dtype, void* out, int64_t n, double mean, double std, bint blocks) noexcept
    void fill_log_normal(Engine& engine, int dtype, void* out, int64_t n, double mean, double std) noexcept
    void fill_exponential(Engine& engine, int dtype, void* out, int64_t n, double rate) noexcept
    void fill_cauchy(Engine& engine, int dtype, void* out, int64_t n, double median, double sigma) noexcept
    void fill_geometric(Engine& engine, int dtype, void* out, int64_t n, double p) noexcept
    void fill_bernoulli(Engine& engine, int dtype, void* out, int64_t n, double p) noexcept
    int64_t fill_bernoulli_each(Engine& engine, int dtype, void* out, int p_dtype, const void* p, int64_t n) noexcept
    void fill_range(Engine& engine, int dtype, void* out, int64_t n, uint64_t width, int64_t base) noexcept
    void fill_full_range(Engine& engine, int dtype, void* out, int64_t n) noexcept
    void fill_natural_range(Engine& engine, int dtype, void* out, int64_t n) noexcept
    void fill_permutation(Engine& engine, int dtype, void* out, int64_t n) noexcept

    void draw_gamma(Engine& engine, int dtype, const void* shape, void* out, int64_t n) noexcept
    void draw_gamma_wide(Engine& engine, int dtype, const void* shape, double* out, int64_t n) noexcept
    int64_t draw_poisson(Engine& engine, int dtype, const void* rate, void* out, int64_t n) noexcept
    void draw_binomial(Engine& engine, int dtype, const void* count, const void* chance, void* out, int64_t n) noexcept
    void gamma_grad(int dtype, const void* shape, const void* x, void* out, int64_t n) noexcept
    void dirichlet_grad(int dtype, const void* x, const void* shape, const void* total, void* out, int64_t n) noexcept

    cdef enum class Weights:
        good
        negative
        not_finite
        no_mass

# These allocate.
cdef extern from "random/random.hpp" namespace "clay":
    Weights sample_with_replacement(Engine& engine, int dtype, const void* weights, int64_t rows, int64_t n,
                                    int64_t* out, int64_t count) except +
    void sample_without_replacement(int dtype, const void* weights, const void* draws, int64_t rows, int64_t n,
                                    int64_t* out, int64_t count) except +

cdef class Generator:
    cdef Engine engine
    cdef device where
    cdef object __weakref__
