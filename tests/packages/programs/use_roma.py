"""Rotations by roma: conversions, geodesic distances, the special Procrustes problem, slerp, and their gradients."""
import roma
import torch
from report import tell


def main():
    torch.manual_seed(0)
    vectors = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    matrices = roma.rotvec_to_rotmat(vectors)
    tell("matrices", matrices)
    quaternions = roma.rotmat_to_unitquat(matrices)
    tell("quaternions", quaternions)
    tell("euler", roma.rotmat_to_euler("xyz", matrices))
    tell("distances", roma.rotmat_geodesic_distance(matrices[:2], matrices[2:]))
    tell("halfway", roma.unitquat_slerp(quaternions[0], quaternions[1], torch.tensor([0.5], dtype=torch.float64)))
    matrices_, scales = roma.special_procrustes(torch.randn(3, 3, 3, dtype=torch.float64), return_singular_values=True)
    tell("procrustes", matrices_)
    tell("singular", scales)
    roma.rotmat_geodesic_distance(matrices[:2], matrices[2:]).sum().backward()
    tell("gradient", vectors.grad)


main()
