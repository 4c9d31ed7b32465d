"""PyTorch's names of the loops that run operations: what a refusal to compute with a dtype begins with."""
from __future__ import annotations

# Operations that PyTorch computes for 8-bit floats.
COMPUTED_BY_BYTES = frozenset((
    "abs", "addbmm", "addmm", "all", "any", "eq", "isclose", "isfinite", "isinf", "isnan", "isreal", "mm", "mul", "ne"))

# Kernel names, and the operations whose errors have them; those named after their operation (`exp_cpu`) are not listed.
_LOOPS = """
GroupNormKernelImpl: group_norm native_group_norm; LayerNormKernelImpl: layer_norm native_layer_norm
acos_vml_cpu: acos; adaptive_max_pool2d: adaptive_max_pool1d
add_stub: add dist hinge_embedding_loss kl_div margin_ranking_loss rsub sub triplet_margin_loss
addcdiv_cpu_out: addcdiv; addcmul_cpu_out: addcmul; addmm_impl_cpu_: addbmm addmm mm; addmv_impl_cpu: addmv mv
arange_cpu: mvlgamma; asin_vml_cpu: asin; atan_vml_cpu: atan; baddbmm: baddbmm
batch_norm: batch_norm instance_norm; bernoulli_scalar_cpu_: alpha_dropout dropout; bmm: bmm; ceil_vml_cpu: ceil
channel_shuffle: channel_shuffle; cholesky_cpu: cholesky_ex; cholesky_inverse_out_cpu: cholesky_inverse
clamp_min_scalar_cpu: relu; clamp_scalar_cpu: hardtanh; cos_vml_cpu: cos; cross: cross; cumprod_out_cpu: cumprod
cumsum_out_cpu: cumsum; digamma: digamma; div_cpu: normalize; div_floor_cpu: floor_divide; dot: dot vdot vecdot
elu_cpu: celu selu; erf_vml_cpu: erf; erfc_vml_cpu: erfc; erfinv_vml_cpu: erfinv; exp2: exp2
exp_vml_cpu: exp poisson_nll_loss; expm1_vml_cpu: expm1; eye: matrix_power; flip_cpu: rot90
floor_vml_cpu: floor; geqrf_cpu: qr; histogramdd: histogram; i0_vml_cpu: i0; index_add_: index_add
index_put: index_put; index_reduce_func_exclude_input_init: index_reduce; isfinite: isfinite; isinf: isinf
ldl_factor_kernel_cpu: ldl_factor_ex; ldl_solve_kernel_cpu: ldl_solve; lerp_kernel_scalar: lerp
lgamma_vml_cpu: lgamma; linalg.lu_solve_cpu: lu_solve; linalg_eig_out_cpu: eig; linalg_eigh_cpu: eigh
linalg_svd_cpu: matrix_rank; linspace_cpu: histc; log10_vml_cpu: log10; log1p_vml_cpu: log1p; log2_vml_cpu: log2
log_sigmoid_cpu: binary_cross_entropy_with_logits logsigmoid; log_softmax_lastdim_kernel_impl: log_softmax
log_vml_cpu: log; logcumsumexp_out_cpu: logcumsumexp; lshift_cpu: bitwise_left_shift
lu_cpu: det lu_factor_ex solve_ex; masked_fill: masked_fill; masked_scatter: masked_scatter
masked_select: masked_select; max_pool2d: max_pool1d max_pool2d; max_pool3d: max_pool3d
max_values_cpu: amax logsumexp; maximum_cpu: clamp_min; median_out: median nanmedian; min_values_cpu: amin
minimum_cpu: clamp_max; mul_cpu_reduced_float: deg2rad isclose mul rad2deg; nan_to_num: nan_to_num
neg_cpu: softmin; nonzero_count_cpu: count_nonzero nonzero nonzero_static
norm_cpu: embedding embedding_bag vector_norm; orgqr_cpu: householder_product; pdist: pdist
pixel_shuffle: pixel_shuffle; pixel_unshuffle: pixel_unshuffle; polygamma: polygamma; pow: ldexp pow square
prod_out_cpu: prod; round_vml_cpu: round; rshift_cpu: bitwise_right_shift
scatter_gather_tensor_cpu: gather scatter scatter_add; scatter_reduce_exclude_input_init: scatter_reduce
searchsorted_out_cpu: bucketize; sigmoid_cpu_reduced_float: sigmoid; sign_cpu: sgn; sin_vml_cpu: sin
softmax_backward_lastdim_kernel_impl: _softmax_backward_data; softmax_lastdim_kernel_impl: softmax
softshrink_check: softshrink; sorting_kernel_method_name: argsort sort; sqrt_vml_cpu: sqrt
std_cpu: std_mean var var_mean; sum_cpu: cosine_embedding_loss masked matrix_exp mean; take_put_cpu: put
tan_vml_cpu: tan; tanh_vml_cpu: tanh; trace: trace; triangular_solve_cpu: solve_triangular; tril: lu_unpack tril
triu: triu; trunc_vml_cpu: trunc; unique: unique_consecutive
"""
_found: dict[str, str] = {}


def loop_of(operation: str) -> str:
    """The name of the loop that runs an operation."""
    if not _found:
        for entry in _LOOPS.replace("\n", ";").split(";"):
            loop, _, operations = entry.strip().partition(": ")
            _found.update(dict.fromkeys(operations.split(), loop))
    return _found.get(operation, operation + "_cpu")
