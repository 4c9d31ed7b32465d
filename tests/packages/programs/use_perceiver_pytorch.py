"""Attention of lucidrains' packages: Perceiver, Performer, Reformer, local attention, equivariant graphs and sinusoidal networks."""
import torch
from egnn_pytorch import EGNN
from local_attention import LocalTransformer
from perceiver_pytorch import Perceiver, PerceiverIO
from performer_pytorch import PerformerLM
from reformer_pytorch import ReformerLM
from report import tell
from siren_pytorch import SirenNet


def step(name, model, forward):
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(2):
        loss = forward()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell(name, loss)


def main():
    torch.manual_seed(0)
    model = Perceiver(input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=2, num_latents=6, latent_dim=16, cross_heads=1, latent_heads=2, cross_dim_head=8, latent_dim_head=8, num_classes=5)
    x = torch.randn(2, 8, 8, 3)
    step("perceiver", model, lambda: model(x).pow(2).mean())
    model = PerceiverIO(dim=8, queries_dim=8, logits_dim=5, depth=1, num_latents=4, latent_dim=16, cross_heads=1, latent_heads=2, cross_dim_head=8, latent_dim_head=8)
    step("perceiver io", model, lambda: model(torch.ones(2, 5, 8), queries=torch.ones(3, 8)).pow(2).mean())
    words = torch.randint(20, (1, 32))
    torch.manual_seed(1)
    performer = PerformerLM(num_tokens=20, max_seq_len=32, dim=16, depth=1, heads=2, dim_head=8, causal=False, nb_features=8)
    step("performer", performer, lambda: torch.nn.functional.cross_entropy(performer(words).transpose(1, 2), words))
    torch.manual_seed(2)
    reformer = ReformerLM(num_tokens=20, dim=16, depth=1, max_seq_len=32, heads=2, bucket_size=8, n_hashes=2, causal=True)
    step("reformer", reformer, lambda: torch.nn.functional.cross_entropy(reformer(words).transpose(1, 2), words))
    torch.manual_seed(3)
    local = LocalTransformer(num_tokens=20, dim=16, depth=1, max_seq_len=32, causal=True, local_attn_window_size=8, heads=2, dim_head=8)
    step("local", local, lambda: local(words, return_loss=True))
    graph = EGNN(dim=8)
    feats, places = torch.randn(1, 6, 8), torch.randn(1, 6, 3)
    step("graph", graph, lambda: sum(part.pow(2).mean() for part in graph(feats, places)))
    siren = SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=2, w0_initial=30.0)
    step("siren", siren, lambda: siren(torch.linspace(0, 1, 8).view(4, 2)).pow(2).mean())


main()
