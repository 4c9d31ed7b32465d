"""Private training by opacus: gradients of each sample, clipped, with noise, and what privacy it costs."""
import warnings

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.layers import DPLSTM, DPMultiheadAttention
from report import tell


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(40, 3, 8, 8), torch.randint(4, (40,)))
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=torch.utils.data.DataLoader(data, batch_size=10),
                                                   noise_multiplier=1.0, max_grad_norm=1.0)
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("epsilon", engine.get_epsilon(1e-5))
    embedding = torch.nn.Sequential(torch.nn.Embedding(10, 6), torch.nn.LayerNorm(6), torch.nn.Linear(6, 2))
    each = GradSampleModule(embedding)
    each(torch.tensor([[1, 2], [3, 3]])).pow(2).sum().backward()
    for name, parameter in each.named_parameters():
        tell(name, parameter.grad_sample)
    lstm = GradSampleModule(DPLSTM(3, 4, batch_first=True))
    lstm(torch.randn(2, 5, 3))[0].sum().backward()
    for name, parameter in lstm.named_parameters():
        tell(name, parameter.grad_sample)
    attention = GradSampleModule(DPMultiheadAttention(4, 2))
    a = torch.randn(5, 2, 4)
    attention(a, a, a)[0].sum().backward()
    for name, parameter in attention.named_parameters():
        tell(name, parameter.grad_sample)


main()
