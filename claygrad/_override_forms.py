"""What `__torch_function__` receives, where it is not what the caller wrote.

Note [What overrides receive]
Of most functions an override gets the arguments as written, and the classes that override. The functions below
differ: PyTorch's code binds their arguments first, then hands some on by position and the others by keyword, with their
defaults, and counts plain tensors among the classes. Programs that override them read `kwargs["inplace"]`, so the table
says for each: its name, the parameters by position, after `|` those by keyword. `*tensors` takes any number. A tensor
given for a parameter with `-` is not counted. Methods without parameters and attributes hand on what was written, and
count the class of the tensor itself even if it is plain; so do `new`, `new_tensor` and `t_`.

Core asks for them when an override is to be called, and never else: programs without overrides do not load this module.
"""
from __future__ import annotations

import inspect
from functools import reduce
from typing import Any, NamedTuple

import claygrad

_TABLE = """
[torch]
einsum: *operands
atleast_1d: *tensors
atleast_2d: *tensors
atleast_3d: *tensors
block_diag: *tensors
broadcast_tensors: *tensors
cartesian_prod: *tensors
cdist: x1 x2 | p compute_mode
chain_matmul: *matrices
lobpcg: A | k B X n iK niter tol largest method tracker ortho_iparams ortho_fparams ortho_bparams
lu: A | pivot get_infos out
meshgrid: *tensors | indexing
norm: input | p dim keepdim out- dtype
pca_lowrank: A | q center niter
split: tensor split_size_or_sections | dim
stft: input n_fft | hop_length win_length window- center pad_mode normalized onesided return_complex
    align_to_window
svd_lowrank: A | q niter M
tensordot: a b | dims out-
unique: input | sorted return_inverse return_counts dim
unique_consecutive: input | return_inverse return_counts dim
unravel_index: indices | shape

[nn.functional]
adaptive_max_pool1d_with_indices: input output_size | return_indices
adaptive_max_pool2d_with_indices: input output_size | return_indices
adaptive_max_pool3d_with_indices: input output_size | return_indices
fractional_max_pool2d_with_indices: input kernel_size | output_size output_ratio return_indices _random_samples
fractional_max_pool3d_with_indices: input kernel_size | output_size output_ratio return_indices _random_samples
max_pool1d_with_indices: input kernel_size | stride padding dilation ceil_mode return_indices
max_pool2d_with_indices: input kernel_size | stride padding dilation ceil_mode return_indices
max_pool3d_with_indices: input kernel_size | stride padding dilation ceil_mode return_indices
adaptive_avg_pool2d: input output_size
adaptive_avg_pool3d: input output_size
adaptive_max_pool1d: input output_size | return_indices
adaptive_max_pool2d: input output_size | return_indices
adaptive_max_pool3d: input output_size | return_indices
affine_grid: theta size | align_corners
alpha_dropout: input | p training inplace
batch_norm: input running_mean running_var | weight bias training momentum eps
binary_cross_entropy: input target | weight size_average reduce reduction
binary_cross_entropy_with_logits: input target | weight size_average reduce reduction pos_weight
celu: input | alpha inplace
cosine_embedding_loss: input1 input2 target | margin size_average reduce reduction
cross_entropy: input target | weight size_average ignore_index reduce reduction label_smoothing
ctc_loss: log_probs targets input_lengths target_lengths | blank reduction zero_infinity
dropout1d: input | p training inplace
dropout2d: input | p training inplace
dropout3d: input | p training inplace
dropout: input | p training inplace
elu: input | alpha inplace
embedding: input weight | padding_idx max_norm norm_type scale_grad_by_freq sparse
embedding_bag: input weight | offsets max_norm norm_type scale_grad_by_freq mode sparse per_sample_weights
    include_last_offset padding_idx
feature_alpha_dropout: input | p training inplace
fold: input output_size kernel_size | dilation padding stride
fractional_max_pool2d: input kernel_size | output_size output_ratio return_indices _random_samples
fractional_max_pool3d: input kernel_size | output_size output_ratio return_indices _random_samples
gaussian_nll_loss: input target var | full eps reduction
glu: input | dim
grid_sample: input grid | mode padding_mode align_corners
group_norm: input num_groups | weight bias eps
gumbel_softmax: logits | tau hard eps dim
hardsigmoid: input | inplace
hardswish: input | inplace
hardtanh: input | min_val max_val inplace
hinge_embedding_loss: input target | margin size_average reduce reduction
huber_loss: input target | reduction delta weight
instance_norm: input | running_mean running_var weight bias use_input_stats momentum eps
interpolate: input | size scale_factor mode align_corners recompute_scale_factor antialias
kl_div: input target | size_average reduce reduction log_target
l1_loss: input target | size_average reduce reduction
layer_norm: input normalized_shape | weight bias eps
leaky_relu: input | negative_slope inplace
linear_cross_entropy: input linear_weight target | linear_bias weight reduction ignore_index label_smoothing
    options
local_response_norm: input size | alpha beta k
log_softmax: input | dim _stacklevel dtype
lp_pool1d: input norm_type kernel_size | stride ceil_mode
lp_pool2d: input norm_type kernel_size | stride ceil_mode
lp_pool3d: input norm_type kernel_size | stride ceil_mode
margin_ranking_loss: input1 input2 target | margin size_average reduce reduction
max_pool1d: input kernel_size | stride padding dilation ceil_mode return_indices
max_pool2d: input kernel_size | stride padding dilation ceil_mode return_indices
max_pool3d: input kernel_size | stride padding dilation ceil_mode return_indices
max_unpool1d: input indices- kernel_size | stride padding output_size
max_unpool2d: input indices- kernel_size | stride padding output_size
max_unpool3d: input indices- kernel_size | stride padding output_size
mish: input | inplace
mse_loss: input target | size_average reduce reduction weight
multi_head_attention_forward: query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias
    bias_k bias_v add_zero_attn dropout_p out_proj_weight out_proj_bias | training key_padding_mask-
    need_weights attn_mask- is_causal use_separate_proj_weight q_proj_weight- k_proj_weight- v_proj_weight-
    static_k- static_v- average_attn_weights
multi_margin_loss: input target | p margin weight size_average reduce reduction
multilabel_margin_loss: input target | size_average reduce reduction
multilabel_soft_margin_loss: input target | weight size_average reduce reduction
nll_loss: input target | weight size_average ignore_index reduce reduction
normalize: input | p dim eps out
pad: input pad | mode value
poisson_nll_loss: input target | log_input full size_average eps reduce reduction
relu6: input | inplace
relu: input | inplace
rms_norm: input normalized_shape | weight eps
rrelu: input | lower upper training inplace
selu: input | inplace
silu: input | inplace
smooth_l1_loss: input target | size_average reduce reduction beta
soft_margin_loss: input target | size_average reduce reduction
softmax: input | dim _stacklevel dtype
softmin: input | dim _stacklevel dtype
softsign: input
tanhshrink: input
triplet_margin_loss: anchor positive negative | margin p eps swap size_average reduce reduction
triplet_margin_with_distance_loss: anchor positive negative | distance_function margin swap reduction
unfold: input kernel_size | dilation padding stride

[Tensor]
__floordiv__: *args
__rdiv__: *args
__rfloordiv__: *args
__rlshift__: *args
__rmatmul__: *args
__rmod__: *args
__rpow__: *args
__rrshift__: *args
__rsub__: *args
__contains__: self element-
__deepcopy__: self memo
__dlpack_device__: self
__format__: self format_spec
__len__: self
__reduce_ex__: self proto
__reversed__: self
backward: self | gradient- retain_graph create_graph inputs
dim_order: self
is_shared: self
istft: self n_fft | hop_length win_length window- center normalized onesided length return_complex
lu: self | pivot get_infos
module_load: self other | assign
norm: self | p dim keepdim dtype
register_hook: self hook
register_post_accumulate_grad_hook: self hook
share_memory_: self
split: self split_size | dim
stft: self n_fft | hop_length win_length window- center pad_mode normalized onesided return_complex
    align_to_window
storage: self
storage_type: self
unflatten: self dim sizes
unique: self | sorted return_inverse return_counts dim
unique_consecutive: self | return_inverse return_counts dim

[nn.init]
constant_:  | tensor val
kaiming_uniform_:  | tensor a mode nonlinearity generator
normal_:  | tensor mean std generator
uniform_:  | tensor a b generator
"""


_ANY = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                          inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])


class Form(NamedTuple):
    """How a function hands its arguments on; with no signature, as they were written."""

    signature: inspect.Signature | None = None
    by_position: int = 0                      # -1: all that were given by position
    by_keyword: tuple[str, ...] = ()
    uncounted: frozenset[str] = frozenset()

    def handed(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, Any, list[Any]]:
        """The arguments as an override receives them, and those whose classes are counted."""
        if self.signature is None:
            return args, kwargs, [args[0]]
        bound = self.signature.bind(*args, **(kwargs or {}))
        bound.apply_defaults()
        values = bound.arguments
        named = {name: values[name] for name in self.by_keyword}
        if self.by_position < 0:
            return args, named or kwargs, list(args)
        first = list(values)[:self.by_position]
        return (tuple(values[name] for name in first), named,
                [values[name] for name in (*first, *self.by_keyword) if name not in self.uncounted])


def override_forms() -> dict[Any, Form]:
    """The forms of all functions that have one."""
    out = {_function(claygrad.Tensor, name): Form() for name in dir(claygrad.Tensor) if _takes_self_alone(name)}
    place: Any = claygrad
    for line in _TABLE.strip().replace("\n    ", " ").split("\n"):
        if line.startswith("["):
            place = reduce(getattr, line[1:-1].split(".")[line == "[torch]":], claygrad)
        elif line:
            name, _, rest = line.partition(":")
            function = _function(place, name)
            out[function] = _form(function, *(part.split() for part in rest.partition("|")[::2]))
    return out


def _takes_self_alone(name: str) -> bool:
    found = inspect.getattr_static(claygrad.Tensor, name)
    if name in ("new", "new_tensor", "t_"):
        return True
    if isinstance(found, (staticmethod, classmethod)) or getattr(object, name, None) is found:
        return False
    if not callable(found):
        return hasattr(found, "__get__")
    try:
        return len(inspect.signature(found).parameters) == 1
    except ValueError:                          # it does not say
        return False


def _function(place: Any, name: str) -> Any:
    """The function as overrides get it: of an attribute, its `__get__`."""
    found = inspect.getattr_static(place, name) if place is claygrad.Tensor else getattr(place, name)
    return found if callable(found) else found.__get__


def _form(function: Any, first: list[str], named: list[str]) -> Form:
    uncounted = frozenset(name[:-1] for name in (*first, *named) if name.endswith("-"))
    many = any(name.startswith("*") for name in first)
    if many and not named:
        return Form(_ANY, -1)
    return Form(inspect.signature(function), -1 if many else len(first), tuple(name.rstrip("-") for name in named),
                uncounted)
