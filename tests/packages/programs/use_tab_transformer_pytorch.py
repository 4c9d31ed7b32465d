"""Transformers for tables: categories and numbers, trained a little."""
import torch
from report import tell
from tab_transformer_pytorch import FTTransformer, TabTransformer


def main():
    torch.manual_seed(0)
    kinds, numbers = torch.randint(0, 5, (8, 3)), torch.randn(8, 4)
    for model in (TabTransformer(categories=(5, 5, 5), num_continuous=4, dim=16, dim_out=1, depth=2, heads=2, mlp_act=torch.nn.ReLU()),
                  FTTransformer(categories=(5, 5, 5), num_continuous=4, dim=16, dim_out=1, depth=2, heads=2)):
        torch.manual_seed(1)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(3):
            loss = (model(kinds, numbers) - numbers.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(type(model).__name__, loss)


main()
