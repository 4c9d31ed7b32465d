"""Loading by torchdata: nodes that sample, map, batch and prefetch, and a stateful loader that goes on where it stopped."""

import torch
from report import tell
from torchdata.nodes import (
    Batcher,
    IterableWrapper,
    Loader,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
    SamplerWrapper,
)
from torchdata.stateful_dataloader import StatefulDataLoader


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return torch.tensor([i, i * i])


def main():
    torch.manual_seed(0)
    node = SamplerWrapper(torch.utils.data.RandomSampler(range(12)))
    node = ParallelMapper(node, lambda i: torch.tensor(i) ** 2, num_workers=2, method="thread")
    loader = Loader(Prefetcher(Batcher(node, batch_size=5, drop_last=False), prefetch_factor=2))
    for batch in loader:
        tell("batch", torch.stack(batch))
    torch.manual_seed(0)
    loader = StatefulDataLoader(Squares(), batch_size=4, shuffle=True, num_workers=0)
    it = iter(loader)
    tell("first", next(it))
    tell("second", next(it))
    state = loader.state_dict()
    again = StatefulDataLoader(Squares(), batch_size=4, shuffle=True, num_workers=0)
    again.load_state_dict(state)
    for b in again:
        tell("rest", b)
    torch.manual_seed(1)
    w = StatefulDataLoader(Squares(), batch_size=4, shuffle=True, num_workers=2)
    it = iter(w)
    tell("workers", next(it))
    s = w.state_dict()
    for b in it:
        tell("w", b)
    w2 = StatefulDataLoader(Squares(), batch_size=4, shuffle=True, num_workers=2)
    w2.load_state_dict(s)
    for b in w2:
        tell("w2", b)
    mix = MultiNodeWeightedSampler(
        {"a": IterableWrapper(range(5)), "b": IterableWrapper(range(100, 105))}, {"a": 0.3, "b": 0.7}, seed=3
    )
    tell("mixed", list(Loader(mix)))


if __name__ == "__main__":
    main()
