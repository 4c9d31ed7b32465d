"""Ordered classes: layers and losses of coral-pytorch, spacecutter's cumulative link, losses and soft labels of dlordinal."""
import torch
from coral_pytorch.dataset import corn_label_from_logits, levels_from_labelbatch, proba_to_label
from coral_pytorch.layers import CoralLayer
from coral_pytorch.losses import CoralLoss, CornLoss
from dlordinal.losses import CDWCELoss, EMDLoss, MCEAndWKLoss, WKLoss
from dlordinal.output_layers import CLM, StickBreakingLayer
from dlordinal.soft_labelling import get_beta_soft_labels, get_binomial_soft_labels, get_exponential_soft_labels
from report import tell
from spacecutter.callbacks import AscensionCallback
from spacecutter.losses import CumulativeLinkLoss
from spacecutter.models import OrdinalLogisticModel


def main():
    torch.manual_seed(0)
    x = torch.randn(24, 6)
    y = (x[:, 0] * 1.5 + 2).clamp(0, 4).long()
    body = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh())
    layer = CoralLayer(8, 5)
    optimizer = torch.optim.Adam([*body.parameters(), *layer.parameters()], lr=0.05)
    for _ in range(4):
        optimizer.zero_grad()
        loss = CoralLoss()(layer(body(x)), levels_from_labelbatch(y, 5))
        loss.backward()
        optimizer.step()
        tell("coral", loss)
    tell("coral.labels", proba_to_label(torch.sigmoid(layer(body(x)))))
    corn = torch.nn.Linear(6, 4)
    loss = CornLoss(5)(corn(x), y)
    loss.backward()
    tell("corn", [loss.item(), corn.weight.grad.abs().sum().item()])
    tell("corn.labels", corn_label_from_logits(corn(x)))

    model = OrdinalLogisticModel(torch.nn.Linear(6, 1), 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = CumulativeLinkLoss()(model(x), y[:, None])
        loss.backward()
        optimizer.step()
        model.apply(AscensionCallback().clip)
        tell("spacecutter", loss)
    tell("cutpoints", model.link.cutpoints)

    logits = torch.randn(24, 5, requires_grad=True)
    for loss_class, options in ((EMDLoss, {}), (WKLoss, {"use_logits": True}), (CDWCELoss, {}), (MCEAndWKLoss, {"use_logits": True})):
        loss = loss_class(num_classes=5, **options)(logits, y)
        tell(loss_class.__name__, loss)
        tell(f"{loss_class.__name__}.gradient", torch.autograd.grad(loss, logits)[0])
    for soft in (get_beta_soft_labels, get_binomial_soft_labels, get_exponential_soft_labels):
        tell(soft.__name__, soft(5))
    tell("clm", CLM(5, "logit")(torch.randn(6, 1)))
    tell("stick", StickBreakingLayer(4, 5)(torch.randn(6, 4)))


main()
