"""Molecules as graphs by ogb: its encoders of atoms and bonds, and its measures."""
import torch
from ogb.graphproppred import Evaluator
from ogb.graphproppred.mol_encoder import AtomEncoder, BondEncoder
from ogb.linkproppred import Evaluator as LinkEvaluator
from report import tell


def main():
    torch.manual_seed(0)
    atoms, bonds = AtomEncoder(8), BondEncoder(4)
    out = atoms(torch.zeros(3, 9, dtype=torch.long)).sum() + bonds(torch.ones(2, 3, dtype=torch.long)).sum()
    out.backward()
    tell("encoders", [out.item(), sum(p.grad.abs().sum().item() for p in [*atoms.parameters(), *bonds.parameters()] if p.grad is not None)])
    tell("rocauc", Evaluator("ogbg-molhiv").eval({"y_true": torch.tensor([[0], [1], [1], [0]]), "y_pred": torch.tensor([[0.1], [0.4], [0.35], [0.8]])}))
    tell("hits", LinkEvaluator("ogbl-ppa").eval({"y_pred_pos": torch.rand(20), "y_pred_neg": torch.rand(200)}))


main()
