"""More than gradients: backpack's gradients of samples, variances, diagonals and factors of curvature."""
import torch
from backpack import backpack, extend
from backpack.extensions import KFAC, KFLR, BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, SumGradSquared, Variance
from report import tell


def main():
    torch.manual_seed(0)
    model = extend(torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Sigmoid(), torch.nn.Flatten(), torch.nn.Linear(2 * 16, 3)))
    loss_of = extend(torch.nn.CrossEntropyLoss())
    x, y = torch.randn(5, 1, 6, 6), torch.tensor([0, 1, 2, 1, 0])
    loss = loss_of(model(x), y)
    with backpack(BatchGrad(), BatchL2Grad(), Variance(), SumGradSquared(), DiagGGNExact(), DiagHessian(), KFLR()):
        loss.backward()
    for name, parameter in model.named_parameters():
        for what in ("grad_batch", "batch_l2", "variance", "sum_grad_squared", "diag_ggn_exact", "diag_h"):
            tell(f"{name} {what}", getattr(parameter, what))
        for factor in parameter.kflr:
            tell(f"{name} kflr", factor)
    torch.manual_seed(1)
    with backpack(KFAC(mc_samples=2)):
        loss_of(model(x), y).backward()
    tell("kfac", model[3].weight.kfac[0])


main()
