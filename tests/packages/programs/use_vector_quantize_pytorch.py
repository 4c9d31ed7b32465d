"""Vector quantization: a codebook that learns by averages, residual codes, finite scalars, codes without a table."""
import torch
from report import tell
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 32, 8, requires_grad=True)
    quantizer = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
    for _ in range(3):
        quantized, indices, loss = quantizer(x)
        tell("loss", loss)
    tell("indices", indices)
    (quantized.square().mean() + loss.sum()).backward()
    tell("gradient", x.grad)
    torch.manual_seed(1)
    residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=16)
    quantized, indices, losses = residual(x)
    tell("residual", quantized)
    tell("losses", losses)
    tell("finite", FSQ([8, 5, 5], dim=8)(x)[1])
    tell("without a table", LFQ(codebook_size=16, dim=8).eval()(x)[1])


main()
