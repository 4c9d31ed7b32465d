"""Structured distributions of torch-struct: chains, segments and trees, their marginals, samples and entropies."""
import torch
from report import tell
from torch_struct import LinearChainCRF, SemiMarkovCRF, TreeCRF


def main():
    torch.manual_seed(0)
    chain = torch.randn(2, 5, 3, 3, requires_grad=True)
    found = LinearChainCRF(chain, lengths=torch.tensor([6, 4]))
    tell("partition", found.partition)
    tell("marginals", found.marginals)
    tell("best", found.argmax)
    tell("entropy", found.entropy)
    tell("gradient", torch.autograd.grad(found.partition.sum(), chain)[0])
    tell("semi", SemiMarkovCRF(torch.randn(1, 4, 3, 2, 2)).marginals)
    tell("tree", TreeCRF(torch.randn(1, 5, 5, 3)).marginals)


main()
