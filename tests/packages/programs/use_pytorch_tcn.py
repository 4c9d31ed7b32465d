"""Temporal convolutions of pytorch-tcn, causal and with gated skip connections, trained."""
import torch
from pytorch_tcn import TCN
from report import tell


def main():
    for causal, skips in ((True, False), (False, True)):
        torch.manual_seed(0)
        model = TCN(3, [4, 4], kernel_size=3, dropout=0.0, causal=causal, use_skip_connections=skips, output_projection=2).double()
        x, y = torch.randn(2, 3, 12, dtype=torch.float64), torch.randn(2, 2, 12, dtype=torch.float64)
        optimizer = torch.optim.AdamW(model.parameters(), 0.01)
        for _ in range(3):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell("loss", loss)
        tell("out", model(x))


main()
