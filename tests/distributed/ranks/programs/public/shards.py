"""As the recipes on torch.distributed.checkpoint: an AppState, saved by all ranks, also while training goes on, and loaded."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    """Checkpoints model and optimizer: dcp calls state_dict and load_state_dict."""

    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model_state_dict, optimizer_state_dict = get_state_dict(self.model, self.optimizer)
        return {"model": model_state_dict, "optim": optimizer_state_dict}

    def load_state_dict(self, state_dict):
        set_state_dict(self.model, self.optimizer, model_state_dict=state_dict["model"], optim_state_dict=state_dict["optim"])


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def build(seed):
    torch.manual_seed(seed)
    model = fully_shard(ToyModel())
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def step(model, optimizer, number):
    generator = torch.Generator().manual_seed(number)
    x = torch.randn(8, 16, generator=generator).chunk(dist.get_world_size())[dist.get_rank()]
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach().div_(dist.get_world_size()))
    return loss.detach()


def show(name, value):
    value = value.clone()
    dist.all_reduce(value)
    if dist.get_rank() == 0:
        print(f"value {name} {value.item() / dist.get_world_size():.6f}")


def main(folder):
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    model, optimizer = build(0)
    for number in range(3):
        show(f"loss{number}", step(model, optimizer, number))
    dcp.save({"app": AppState(model, optimizer)}, checkpoint_id=os.path.join(folder, "plain"))
    future = dcp.async_save({"app": AppState(model, optimizer)}, checkpoint_id=os.path.join(folder, "async"))
    future.result()
    show("after", step(model, optimizer, 3))
    for name in ("plain", "async"):
        other, other_optimizer = build(1)
        dcp.load(state_dict={"app": AppState(other, other_optimizer)}, checkpoint_id=os.path.join(folder, name))
        show(f"resumed_{name}", step(other, other_optimizer, 3))
    written = {"weights": torch.arange(6.0), "steps": 7, "nested": {"a": [torch.ones(2), "text"]}}
    dcp.save(written, storage_writer=dcp.FileSystemWriter(os.path.join(folder, "files")))
    read = {"weights": torch.zeros(6), "steps": 0, "nested": {"a": [torch.zeros(2), ""]}}
    dcp.load(read, storage_reader=dcp.FileSystemReader(os.path.join(folder, "files")))
    assert read["steps"] == 7
    assert torch.equal(read["weights"], written["weights"])
    assert read["nested"]["a"][1] == "text"
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
