"""einops on tensors: rearrange, reduce, repeat, einsum, pack, layers inside a network that learns."""
import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    tell("patches", patches)
    tell("means", reduce(x, "b c (h 2) (w 2) -> b c h w", "mean"))
    tell("largest", reduce(x, "b c h w -> b c", "max"))
    tell("repeated", repeat(x, "b c h w -> b (r c) h w", r=2))
    tell("product", einsum(patches, patches, "b i d, b j d -> b i j"))
    tell("shape", str(parse_shape(x, "b c h w")))
    packed, shapes = pack([x[:, 0], x[:, 1:]], "b * h w")
    tell("packed", packed)
    tell("unpacked", [part.shape[1] if part.dim() == 4 else 0 for part in unpack(packed, shapes, "b * h w")])
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), Reduce("b c (h 2) (w 2) -> b c h w", "max"), nn.ReLU(),
                          Rearrange("b c h w -> b (c h w)"), EinMix("b (g i) -> b (g o)", weight_shape="g i o", bias_shape="g o", g=4, i=16, o=3),
                          nn.Linear(12, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tell("losses", losses)
    tell("gradient", x.grad)


main()
