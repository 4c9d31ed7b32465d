"""A small transformer learns to write Python, character by character, from the source of Python's own library.

    python examples/char_gpt.py              # a minute; writes out/char_gpt.png and some lines of its own
"""

from __future__ import annotations

import argparse
import textwrap
from argparse import Namespace
from pathlib import Path

from workbench import draw_losses, figure, options, train

import claygrad as torch
from claygrad import nn

LENGTH, BATCH, WIDTH, HEADS, LAYERS = 64, 16, 96, 4, 3
SOURCES = (argparse, textwrap)         # modules of which every Python has the text


def load() -> tuple[torch.Tensor, list[str]]:
    """The text as numbers, and the character that each number means."""
    text = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in SOURCES)
    characters = sorted(set(text))
    number = {character: n for n, character in enumerate(characters)}
    return torch.tensor([number[character] for character in text]), characters


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        many, long, _ = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.view(many, long, HEADS, -1).transpose(1, 2) for part in parts)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(many, long, WIDTH))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, characters: int) -> None:
        super().__init__()
        self.character, self.position = nn.Embedding(characters, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        x = self.character(numbers) + self.position(torch.arange(numbers.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def write(model: Gpt, start: torch.Tensor, count: int) -> torch.Tensor:
    """Go on from `start`, each character drawn from what the model thinks likely."""
    model.eval()
    text = start
    with torch.no_grad():
        for _ in range(count):
            scores = model(text[None, -LENGTH:])[0, -1] / 0.7
            text = torch.cat([text, torch.multinomial(scores.softmax(0), 1)])
    return text


def learn(told: Namespace) -> tuple[Gpt, torch.Tensor, list[str], list[float]]:
    torch.manual_seed(told.seed)
    text, characters = load()
    model = Gpt(len(characters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)

    def step(_: int) -> torch.Tensor:
        begin = torch.randint(len(text) - LENGTH - 1, (BATCH, 1))
        rows = text[begin + torch.arange(LENGTH + 1)]
        return nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    return model, text, characters, train("char_gpt", model, optimizer, step, told)


def main() -> float:
    told = options(__doc__ or "", 900)
    model, text, characters, losses = learn(told)
    sheet, axes = figure(6, 3.5)
    draw_losses(axes, losses, "surprise per character, in nats", log=False)
    sheet.savefig(told.out / "char_gpt.png", dpi=110)
    torch.manual_seed(1)
    print("".join(characters[n] for n in write(model, text[:40], 300).tolist()))
    last = sum(losses[-50:]) / len(losses[-50:])
    print(f"surprise {losses[0]:.2f} at first, {last:.2f} nats a character now; {told.out / 'char_gpt.png'}")
    return last


if __name__ == "__main__":
    main()
