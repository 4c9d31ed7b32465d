"""Networks for tables: rtdl's MLP, ResNet and FT-Transformer with categories, trained a few steps."""
import torch
from report import tell
from rtdl_revisiting_models import MLP, FTTransformer, ResNet


def main():
    torch.manual_seed(0)
    x, c = torch.randn(32, 5), torch.randint(0, 3, (32, 2))
    y = (x[:, :1] * x[:, 1:2]) + c[:, :1]
    models = {
        "mlp": (MLP(d_in=5, d_out=1, n_blocks=2, d_block=16, dropout=0.1), (x,)),
        "resnet": (ResNet(d_in=5, d_out=1, n_blocks=2, d_block=16, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0), (x,)),
        "transformer": (FTTransformer(n_cont_features=5, cat_cardinalities=[3, 3], d_out=1, n_blocks=2, d_block=16, attention_n_heads=4,
                                      attention_dropout=0.1, ffn_d_hidden=None, ffn_d_hidden_multiplier=4 / 3, ffn_dropout=0.1,
                                      residual_dropout=0.0), (x, c)),
    }
    for name, (model, given) in models.items():
        model = model.double()
        given = tuple(g.double() if g.is_floating_point() else g for g in given)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(3):
            loss = (model(*given) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(name, loss)
        model.eval()
        tell(f"{name} says", model(*given))


main()
