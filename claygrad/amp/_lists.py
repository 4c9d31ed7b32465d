"""Which operations compute in which dtype under autocast on a CPU. Others compute in the dtype of their inputs."""
from __future__ import annotations

# In the lower precision: products, whose sums are kept in float32 anyway.
LOWER = frozenset("""
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    mm bmm matmul addmm addbmm baddbmm linear linalg_vecdot linalg_multi_dot chain_matmul einsum tensordot inner
    prelu scaled_dot_product_attention _rnn_layer _lstm_layer
""".split())

# In float32: where a few digits are not enough.
FULL = frozenset("""
    avg_pool3d max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d
    adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
    fractional_max_pool3d_with_indices grid_sample grid_sampler grid_sampler_2d grid_sampler_3d
    binary_cross_entropy binary_cross_entropy_with_logits mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss
    poisson_nll_loss smooth_l1_loss cross_entropy l1_loss huber_loss margin_ranking_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss
    polar prod quantile nanquantile stft istft cdist trace view_as_complex
    cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse geqrf lu qr svd triangular_solve
    linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_cholesky_ex linalg_svd linalg_svdvals linalg_eig
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lstsq linalg_qr linalg_pinv
    linalg_householder_product linalg_tensorinv linalg_tensorsolve
    fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn
    fft_hfft fft_ihfft
""".split())

# In the dtype of their inputs, though they are made of products here.
KEPT = frozenset(["bilinear"])

# In the widest dtype among the inputs.
WIDEST = frozenset(["stack", "cat", "index_copy"])
