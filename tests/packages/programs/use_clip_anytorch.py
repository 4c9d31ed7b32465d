"""OpenAI's CLIP of random weights, small: both towers, the loss."""

import torch
from clip import tokenize
from clip.model import CLIP, convert_weights
from report import tell


def main():
    torch.manual_seed(0)
    m = CLIP(16, 32, (1, 1, 1, 1), 64, None, 77, 49408, 64, 1, 1)
    t = tokenize(["a cat", "two dogs"])
    x = torch.randn(2, 3, 32, 32)
    a, b = m(x, t)
    tell("a", a)
    torch.nn.functional.cross_entropy(a, torch.arange(2)).backward()
    tell("g", m.text_projection.grad)
    m = CLIP(16, 32, 1, 64, 16, 77, 49408, 64, 1, 1)
    convert_weights(m)
    tell("dtype", str(m.dtype))


main()
