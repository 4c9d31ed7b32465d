"""As the tutorials on FullyShardedDataParallel: wrapping policies, mixed precision, whole and sharded state dictionaries."""

import argparse
import functools
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateKeyType,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import enable_wrap, size_based_auto_wrap_policy, transformer_auto_wrap_policy, wrap
from torch.optim.lr_scheduler import StepLR
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, dim=12, inside=False):
        super().__init__()
        self.inside = inside
        self.embed, self.blocks, self.head = nn.Linear(8, dim), nn.ModuleList(Block(dim) for _ in range(3)), nn.Linear(dim, 5)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.inside else block(x)
        return self.head(x)


def build(args):
    torch.manual_seed(2)
    model = Model(inside=args.inside)
    if args.policy == "wrap":
        with enable_wrap(wrapper_cls=FSDP, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP):
            model.blocks = nn.ModuleList(wrap(block) for block in model.blocks)
            return wrap(model)
    policy = None if args.inside else {"transformer": functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
              "size": functools.partial(size_based_auto_wrap_policy, min_num_params=300)}[args.policy]
    precision = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
    model = FSDP(model, auto_wrap_policy=policy, mixed_precision=precision if args.bf16 else None,
                 sharding_strategy=ShardingStrategy.FULL_SHARD, device_id=None, limit_all_gathers=True,
                 cpu_offload=CPUOffload(offload_params=False), backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
                 use_orig_params=args.orig)
    if args.checkpoint:
        wrapper = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT if args.reentrant else CheckpointImpl.NO_REENTRANT)
        apply_activation_checkpointing(model, checkpoint_wrapper_fn=wrapper, check_fn=lambda m: isinstance(m, Block))
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", default="transformer")
    for name in ("bf16", "orig", "checkpoint", "reentrant", "inside"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = build(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    for step in range(5):
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 5, (8,), generator=generator)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.chunk(world_size)[rank]).float(), y.chunk(world_size)[rank], reduction="sum")
        loss.backward()
        norm = model.clip_grad_norm_(1000.0)
        optimizer.step()
        scheduler.step()
        total = torch.tensor([loss.item(), 8 / world_size])
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        if rank == 0:
            print(f"value loss{step} {(total[0] / total[1]).item():.6f}\nvalue norm{step} {float(norm) * world_size:.6f}")
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        state = model.state_dict()
    optim_state = FSDP.full_optim_state_dict(model, optimizer)
    if rank == 0:
        print(f"value names {len(state)}\nvalue sum {sum(v.double().abs().sum().item() for v in state.values()):.6f}")
        moments = sum(v["exp_avg"].double().abs().sum().item() for v in optim_state["state"].values())
        print(f"value moments {moments * world_size:.6f}\nvalue state {len(optim_state['state'])}")
        Model().load_state_dict(state)
    else:
        assert not state
    other = build(args)
    with FSDP.state_dict_type(other, StateDictType.FULL_STATE_DICT):
        every = [state]
        dist.broadcast_object_list(every, src=0)
        other.load_state_dict(every[0])
    with torch.no_grad():
        assert torch.equal(other(x), model(x))
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=1e-2)
    other_optimizer.load_state_dict(FSDP.scatter_full_optim_state_dict(optim_state if rank == 0 else None, other, optim=other_optimizer))
    for p, q in zip(model.parameters(), other.parameters()):
        assert torch.equal(optimizer.state[p]["exp_avg_sq"], other_optimizer.state[q]["exp_avg_sq"])
        assert optimizer.state[p]["step"] == other_optimizer.state[q]["step"] == 5
    FSDP.set_state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=False),
                             FullOptimStateDictConfig(rank0_only=False))
    everywhere = FSDP.optim_state_dict(model, optimizer)
    assert set(everywhere["state"]) == {name for group in everywhere["param_groups"] for name in group["params"]} == set(every[0])
    numbered = FSDP.rekey_optim_state_dict(everywhere, OptimStateKeyType.PARAM_ID, model, optim=optimizer)
    torch.optim.AdamW(Model().parameters()).load_state_dict(numbered)
    other_optimizer.load_state_dict(FSDP.optim_state_dict_to_load(other, other_optimizer, everywhere))
    with FSDP.summon_full_params(model, writeback=False):
        assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in Model().parameters())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
