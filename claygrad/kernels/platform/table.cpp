// The list of this instruction set's kernels.
#include "platform/table.hpp"

namespace clay {
namespace CLAY_ISA {

void bind_math(void* (*lookup)(const char*));
bool inside(const int64_t* index_m, int64_t m, int64_t n);

static const Family families[] = {
    {"unary", unary_kernels, unary_count},     {"binary", binary_kernels, binary_count},
    {"compare", compare_kernels, compare_count}, {"extreme", extreme_kernels, extreme_count},
    {"reduce", reduce_kernels, reduce_count},  {"reduce_half", reduce_half_kernels, reduce_half_count}, {"rows", rows_kernels, rows_count},
    {"rows2", rows2_kernels, rows2_count},     {"gemm", gemm_kernels, gemm_count}, {"combine", combine_kernels, combine_count},
    {"conv", conv_kernels, conv_count},       {"attention", attention_kernels, attention_count},
    {"resample", resample_kernels, resample_count}, {"bags", bags_kernels, bags_count},
    {"windows", windows_kernels, windows_count}, {"depthwise", depthwise_kernels, depthwise_count},
    {"optim", optim_kernels, optim_count},     {"recurrent", recurrent_kernels, recurrent_count},
    {"norm", norm_kernels, norm_count},        {"variance", variance_kernels, variance_count},
    {"loss", loss_kernels, loss_count},        {"scan", scan_kernels, scan_count},
    {"shaped", shaped_kernels, shaped_count},  {"total", total_kernels, total_count},
    {"gate", gate_kernels, gate_count},        {"cast", cast_kernels, cast_count},
    {"select", select_kernels, select_count},   {"distance", distance_kernels, distance_count},
    // One family in several files
    {"each", each_kernels, each_count},        {"each", test_kernels, test_count},
    {"each", complex_kernels, complex_count},  {"each", gamma_kernels, gamma_count},
    {"each", bessel_kernels, bessel_count},    {"each", polynomial_kernels, polynomial_count},
    {"each", slope_kernels, slope_count},      {"each", half_kernels, half_count},
    {"linalg", linalg_kernels, linalg_count},       {"fft", fft_kernels, fft_count},           {"grid", grid_kernels, grid_count},
    {"plane", plane_kernels, plane_count},     {"finite", finite_kernels, finite_count},
};

#define CLAY_TEXT_(x) #x
#define CLAY_TEXT(x) CLAY_TEXT_(x)
extern const IsaSet isa_set;
const IsaSet isa_set = {CLAY_TEXT(CLAY_ISA), families, sizeof families / sizeof *families, bind_math, gemm_kernels,
#if defined(__AVX512F__)
                        1 << 28, inside, nullptr};
#elif defined(__AVX2__)
                        1 << 24, inside, nullptr};
#elif defined(CLAY_VECTOR_BYTES)
                        1 << 16, inside, nullptr};
#else
                        1024, inside, nullptr};
#endif

}  // namespace CLAY_ISA
}  // namespace clay
