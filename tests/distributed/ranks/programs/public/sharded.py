"""As PyTorch's examples of FSDP: a small transformer, its layers and then all of it sharded, checkpoints of whole tensors."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


class Transformer(nn.Module):
    def __init__(self, vocab=32, dim=16, layers=2, length=8):
        super().__init__()
        self.tok_embeddings, self.pos_embeddings = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 2, 4 * dim, 0.0, batch_first=True) for _ in range(layers))
        self.norm, self.output = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(tokens.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h)).float()


def main(args):
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(backend="gloo", rank=rank, world_size=world_size)
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (world_size,), mesh_dim_names=("fsdp",)) if not args.hybrid else init_device_mesh(
        "cpu", (2, world_size // 2), mesh_dim_names=("replicate", "shard"))
    kwargs = {"mesh": mesh}
    if args.mixed_precision:
        kwargs["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = Transformer()
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    fully_shard(model, **kwargs)
    assert isinstance(model, Transformer)
    assert isinstance(model, FSDPModule)
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    path, done = os.path.join(args.folder, "state.pt"), 0
    if os.path.exists(path):
        held = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(model, held["model"], options=options)
        set_optimizer_state_dict(model, optim, held["optim"], options=options)
        done = held["steps"]
    for step in range(done, args.steps):
        torch.manual_seed(1000 + step)
        x = torch.randint(0, 32, (8, 8)).chunk(world_size)[rank]
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.roll(1, 1).flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optim.step()
        optim.zero_grad()
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    held = {"model": get_model_state_dict(model, options=options), "optim": get_optimizer_state_dict(model, optim, options=options),
            "steps": args.steps}
    if rank == 0:
        torch.save(held, path)
        print("sum", sum(v.double().abs().sum().item() for v in held["model"].values()))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--mixed-precision", action="store_true")
    parser.add_argument("--hybrid", action="store_true")
    main(parser.parse_args())
