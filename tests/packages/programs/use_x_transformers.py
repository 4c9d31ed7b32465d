"""Transformers with rotary positions, memory tokens, normed queries and gated units, trained and asked to go on."""
import torch
from report import tell
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper


def main():
    torch.manual_seed(0)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=32, max_seq_len=24, attn_layers=Decoder(
        dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, attn_qk_norm=True, ff_glu=True, use_rmsnorm=True)))
    words = torch.arange(48).reshape(3, 16) * 5 % 32
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(4):
        loss = model(words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    model.eval()
    torch.manual_seed(1)
    tell("generated", model.generate(words[:, :4], 8, temperature=0.0))
    encoder = TransformerWrapper(num_tokens=32, max_seq_len=24, num_memory_tokens=2, attn_layers=Encoder(dim=32, depth=2, heads=4, alibi_pos_bias=True))
    mask = torch.arange(16)[None] < torch.tensor([16, 9, 12])[:, None]
    tell("encoded", encoder(words, mask=mask, return_embeddings=True))


main()
