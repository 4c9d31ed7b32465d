"""Segmentation models: a U-Net and a DeepLab on a small encoder, Dice and focal losses, scores."""
import segmentation_models_pytorch as smp
import torch
from report import tell


def main():
    torch.set_default_dtype(torch.float64)     # BatchNorm over 8 numbers magnifies how float32 rounds, in PyTorch as much
    x, mask = torch.zeros(2, 3, 64, 64), torch.zeros(2, 1, 64, 64)
    x[:, :, 16:40, 20:44] = 1.0
    mask[:, :, 16:40, 20:44] = 1.0
    for kind in (smp.Unet, smp.FPN, smp.DeepLabV3Plus):
        torch.manual_seed(0)
        model = kind("resnet18", encoder_weights=None, in_channels=3, classes=1)
        dice, focal = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")
        optimizer = torch.optim.Adam(model.parameters(), 1e-4)
        for _ in range(2):
            logits = model(x)
            loss = dice(logits, mask) + focal(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(f"{kind.__name__} loss", loss)
        parts = smp.metrics.get_stats((logits.sigmoid() > 0.5).long(), mask.long(), mode="binary")
        tell("score", smp.metrics.iou_score(*parts, reduction="micro"))


main()
