"""safetensors.torch: files of tensors and of models, in several dtypes, tied weights, slices read from a file."""
import tempfile

import torch
from report import tell
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn


def main():
    torch.manual_seed(0)
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.randn(4).bfloat16(), "d": torch.tensor([True, False]),
               "e": torch.randn(2, 2, dtype=torch.float64), "f": torch.randn(3).half(), "g": torch.arange(4, dtype=torch.uint8)}
    again = load(save(tensors))
    for name in sorted(again):
        tell(name, again[name])
        tell(f"{name} dtype", str(again[name].dtype))
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    with tempfile.TemporaryDirectory() as folder:
        save_file(tensors, folder + "/some.safetensors", metadata={"format": "pt"})
        tell("file", load_file(folder + "/some.safetensors")["a"])
        with safe_open(folder + "/some.safetensors", framework="pt", device="cpu") as file:
            tell("keys", sorted(file.keys()))
            tell("slice", file.get_slice("a")[1:, :2])
            tell("whole", file.get_tensor("e"))
        save_model(model, folder + "/model.safetensors")
        other = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        other[2].weight = other[0].weight
        tell("missing", [sorted(part) for part in load_model(other, folder + "/model.safetensors")])
    tell("same", other(tensors["a"]) - model(tensors["a"]))
    tell("outputs", other(tensors["a"]))


main()
