"""Geometry in networks: invariant point attention of proteins, and SE(3) transformers that turn as their input does."""
import torch
from invariant_point_attention import InvariantPointAttention, IPABlock
from report import tell
from se3_transformer_pytorch import SE3Transformer, basis

computed = basis.basis_transformation_Q_J


def with_a_sign(*args, **kwargs):
    """A basis vector of a null space has either sign, as whoever computes it likes: one of them is chosen here."""
    vector = computed(*args, **kwargs)
    weights = torch.arange(1, vector.numel() + 1, dtype=vector.dtype).sqrt().reshape(vector.shape)
    return vector * (vector * weights).sum().sign()


basis.basis_transformation_Q_J = with_a_sign


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    single, pair = torch.randn(1, 6, 16), torch.randn(1, 6, 6, 8)
    turn, shift = torch.linalg.qr(torch.randn(1, 6, 3, 3)).Q, torch.randn(1, 6, 3)
    attention = InvariantPointAttention(dim=16, heads=2, scalar_key_dim=4, scalar_value_dim=4, point_key_dim=2, point_value_dim=2,
                                        pairwise_repr_dim=8)
    out = attention(single, pair, rotations=turn, translations=shift, mask=torch.ones(1, 6, dtype=torch.bool))
    out.square().sum().backward()
    tell("attention", out)
    tell("gradient", attention.to_point_q.weight.grad)
    tell("block", IPABlock(dim=16, heads=2, require_pairwise_repr=False)(single, rotations=turn, translations=shift))
    torch.set_default_dtype(torch.float32)
    model = SE3Transformer(dim=8, heads=2, depth=1, dim_head=4, num_degrees=2, valid_radius=10, num_neighbors=4).double()
    features, places = torch.randn(1, 6, 8).double(), torch.randn(1, 6, 3).double()
    scalars = model(features, places, torch.ones(1, 6, dtype=torch.bool), return_type=0)
    scalars.square().mean().backward()
    tell("scalars", scalars)
    tell("vectors", model(features, places, torch.ones(1, 6, dtype=torch.bool), return_type=1))


main()
