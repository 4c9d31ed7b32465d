"""tensordict: dictionaries of tensors with a batch size, modules that read and write them, tensor classes, memory-mapped files."""
import tempfile

import torch
from report import tell
from tensordict import TensorDict, tensorclass
from tensordict.nn import NormalParamExtractor, ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torch import nn


@tensorclass
class Step:
    state: torch.Tensor
    reward: torch.Tensor


def main():
    torch.manual_seed(0)
    data = TensorDict({"x": torch.randn(6, 4), "deep": {"y": torch.arange(6.0)}}, batch_size=[6])
    tell("part", data[2:4]["x"])
    tell("nested", data["deep", "y"])
    tell("stacked", list(torch.stack([data, data], 0).shape))
    tell("catted", torch.cat([data, data], 0)["x"])
    tell("reshaped", list(data.reshape(2, 3).batch_size))
    tell("applied", data.apply(lambda t: t * 2)["x"])
    tell("sum", (data + data)["deep", "y"])
    tell("split", [list(part.batch_size) for part in data.split(4)])
    net = TensorDictSequential(
        TensorDictModule(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), NormalParamExtractor()), in_keys=["x"], out_keys=["loc", "scale"]),
        ProbabilisticTensorDictModule(in_keys=["loc", "scale"], out_keys=["action"], distribution_class=torch.distributions.Normal, return_log_prob=True))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        out = net(data.clone())
        loss = (out["loc"] - 1).square().mean() + out["scale"].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tell("loss", loss)
    tell("keys", sorted(map(str, out.keys())))
    step = Step(state=torch.randn(3, 2), reward=torch.ones(3), batch_size=[3])
    tell("class", step[1:].state)
    weights = TensorDict.from_module(net)
    tell("weights", sum(v.numel() for v in weights.values(True, True)))
    with tempfile.TemporaryDirectory() as folder:
        data.memmap(folder)
        tell("mapped", TensorDict.load_memmap(folder)["x"])
        torch.save(data, folder + "/data.pt")
        tell("loaded", torch.load(folder + "/data.pt", weights_only=False)["deep", "y"])


main()
