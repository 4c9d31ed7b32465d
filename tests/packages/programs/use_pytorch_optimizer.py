"""Optimizers of pytorch-optimizer on one small network, four steps each, and its losses and schedules."""
import pytorch_optimizer
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.randn(32, 6), torch.randn(32, 2)
    for name in sorted(pytorch_optimizer.get_supported_optimizers()):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        try:
            optimizer = pytorch_optimizer.load_optimizer(name)(model.parameters(), lr=1e-3)
        except Exception as error:
            tell(name, type(error).__name__)
            continue
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            try:
                loss.backward()
                optimizer.step()
            except Exception as error:
                losses.append(type(error).__name__)
                break
            losses.append(loss.item())
        tell(name, losses)
    scores, wanted = torch.randn(6, 4), torch.tensor([0, 1, 3, 2, 2, 1])
    one_hot = torch.nn.functional.one_hot(wanted, 4).float()
    for loss in (pytorch_optimizer.FocalLoss(), pytorch_optimizer.DiceLoss("multilabel"), pytorch_optimizer.TverskyLoss(),
                 pytorch_optimizer.BCELoss()):
        part = scores.clone().requires_grad_()
        value = loss(part.sigmoid() if not isinstance(loss, pytorch_optimizer.FocalLoss) else part, one_hot)
        value.backward()
        tell(type(loss).__name__, value)
        tell("gradient", part.grad)


main()
