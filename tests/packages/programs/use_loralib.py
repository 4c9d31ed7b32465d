"""Small packages: low-rank layers, mup's scaled widths, CAME, Adan and Ranger, cosine transforms, Bayesian layers, mixtures, wavelets."""
import loralib as lora
import mup
import torch
import torch_dct
import torchbnn
from adan_pytorch import Adan
from came_pytorch import CAME
from pytorch_ranger import Ranger
from pytorch_wavelets import DWTForward, DWTInverse
from report import tell
from soft_moe_pytorch import SoftMoE
from torch import nn


def train(name, model, optimizer, x, y, steps=4, more=lambda: 0.0):
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y) + more()
        loss.backward()
        optimizer.step()
        tell(f"{name}, loss {step}", loss)


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, width), nn.Linear(width, width), mup.MuReadout(width, 1)

    def forward(self, x):
        return self.out(torch.relu(self.b(torch.relu(self.a(x)))))


def main():
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    model = nn.Sequential(lora.Linear(4, 8, r=2), nn.ReLU(), lora.Linear(8, 1, r=2))
    lora.mark_only_lora_as_trainable(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    train("loralib", model, torch.optim.AdamW(trained, lr=0.1), x, y)
    tell("loralib, names", " ".join(sorted(lora.lora_state_dict(model))))
    tell("loralib, merged", model.eval()(x))
    model = Wide(32)
    mup.set_base_shapes(model, Wide(8), delta=Wide(16))
    for parameter in model.parameters():
        mup.init.uniform_(parameter, -0.1, 0.1)
    train("mup", model, mup.MuAdam(model.parameters(), lr=0.01), x, y)
    for name, make in (("CAME", lambda p: CAME(p, lr=1e-2, betas=(0.9, 0.999, 0.9999), eps=(1e-30, 1e-16))),
                       ("Adan", lambda p: Adan(p, lr=1e-2)), ("Ranger", lambda p: Ranger(p, lr=1e-2))):
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        train(name, model, make(model.parameters()), x, y, steps=7)
    wave = torch.randn(3, 8, requires_grad=True)
    cosines = torch_dct.dct(wave)
    cosines.pow(2).sum().backward()
    for name, value in (("values", cosines), ("gradient", wave.grad), ("back", torch_dct.idct(cosines)), ("two", torch_dct.dct_2d(wave[None]))):
        tell(f"torch-dct, {name}", value)
    model = nn.Sequential(torchbnn.BayesLinear(0, 0.1, 4, 8), nn.ReLU(), torchbnn.BayesLinear(0, 0.1, 8, 1))
    divergence = torchbnn.BKLLoss(reduction="mean", last_layer_only=False)
    train("torchbnn", model, torch.optim.Adam(model.parameters(), lr=0.01), x, y, more=lambda: 0.1 * divergence(model))
    model = SoftMoE(dim=16, seq_len=8, num_experts=4)
    train("soft-moe", model, torch.optim.Adam(model.parameters(), lr=0.01), torch.randn(2, 8, 16), torch.randn(2, 8, 16))
    picture = torch.randn(1, 2, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db2", mode="zero")(picture)
    low.sum().backward()
    tell("wavelets, low", low)
    tell("wavelets, back", DWTInverse(wave="db2", mode="zero")((low, high))[0, 0])
    tell("wavelets, gradient", picture.grad[0, 0])


main()
