"""Transformers of other kinds: linformer, Nyström, linear, Sinkhorn and hierarchical attention, conformer, mixers of MLPs."""
import torch
from conformer import ConformerBlock
from g_mlp_pytorch import gMLP
from h_transformer_1d import HTransformer1D
from linear_attention_transformer import LinearAttentionTransformerLM
from linformer import LinformerLM
from mlp_mixer_pytorch import MLPMixer
from nystrom_attention import Nystromformer
from report import tell
from sinkhorn_transformer import SinkhornTransformerLM


def main():
    torch.manual_seed(0)
    tokens, vectors = torch.randint(0, 20, (2, 32)), torch.randn(2, 32, 16)
    models = {
        "linformer": (LinformerLM(num_tokens=20, dim=16, seq_len=32, depth=1, heads=2, k=8), tokens),
        "linear": (LinearAttentionTransformerLM(num_tokens=20, dim=16, heads=2, depth=1, max_seq_len=32, causal=True, blindspot_size=1), tokens),
        "sinkhorn": (SinkhornTransformerLM(num_tokens=20, dim=16, heads=2, depth=1, max_seq_len=32, bucket_size=8), tokens),
        "hierarchical": (HTransformer1D(num_tokens=20, dim=16, depth=1, causal=False, max_seq_len=32, heads=2, dim_head=8, block_size=8), tokens),
        "nystrom": (Nystromformer(dim=16, dim_head=8, heads=2, depth=1, num_landmarks=8), vectors),
        "conformer": (ConformerBlock(dim=16, dim_head=8, heads=2, ff_mult=2), vectors),
        "gmlp": (gMLP(num_tokens=20, dim=16, depth=1, seq_len=32), tokens),
        "mixer": (MLPMixer(image_size=16, channels=1, patch_size=4, dim=16, depth=2, num_classes=3), torch.randn(2, 1, 16, 16)),
    }
    for name, (model, given) in models.items():
        torch.manual_seed(1)
        model = model.double()
        given = given.double() if given.is_floating_point() else given
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(2):
            torch.manual_seed(2)
            out = model(given)
            loss = out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(name, loss)
        tell(f"{name} gives", out)


main()
