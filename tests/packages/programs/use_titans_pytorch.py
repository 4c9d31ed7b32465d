"""Memory that learns as it reads: titans' neural memory, whose weights are stepped per chunk by vmapped gradients."""
import torch
from report import tell
from titans_pytorch import NeuralMemory


def main():
    torch.manual_seed(0)
    memory = NeuralMemory(dim=8, chunk_size=4, heads=2, dim_head=4)
    sequence = torch.randn(2, 16, 8)
    retrieved, state = memory(sequence)
    tell("retrieved", retrieved)
    loss = retrieved.square().mean()
    loss.backward()
    tell("gradient", next(p.grad for p in memory.parameters() if p.grad is not None))
    tell("gradients", sum(float(p.grad.abs().sum()) for p in memory.parameters() if p.grad is not None))
    with torch.no_grad():
        again, _ = memory(sequence, state=state)
    tell("again", again)


main()
