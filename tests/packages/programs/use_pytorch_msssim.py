"""Likeness of images: SSIM, multi-scale SSIM, perceptual distances of lpips, and many measures of piq, with gradients."""
import warnings

import lpips
import piq
import pytorch_msssim
import torch
from report import tell


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    clean = torch.rand(2, 3, 192, 192)
    noisy = (clean + 0.1 * torch.randn_like(clean)).clamp(0, 1)
    small, rough = clean[..., :64, :64], noisy[..., :64, :64]
    x = noisy.clone().requires_grad_()
    loss = 1 - pytorch_msssim.ms_ssim(x, clean, data_range=1) + 1 - pytorch_msssim.ssim(x, clean, data_range=1, win_size=7)
    loss.backward()
    tell("ssim", loss)
    tell("gradient", x.grad * 1e3)
    for name in ("ssim", "psnr", "total_variation", "gmsd", "multi_scale_gmsd", "vsi", "mdsi", "haarpsi", "vif_p", "fsim", "srsim", "dss", "information_weighted_ssim"):
        measure = getattr(piq, name)
        x = noisy.clone().requires_grad_()
        value = (measure(x) if name == "total_variation" else measure(x, clean)).sum()
        value.backward()
        tell(name, value)
        tell("slope", x.grad.abs().sum())
    torch.manual_seed(1)
    for net in ("alex", "squeeze"):
        distance = lpips.LPIPS(net=net, pnet_rand=True, pretrained=False, verbose=False).eval()
        x = (rough * 2 - 1).requires_grad_()
        value = distance(x, small * 2 - 1).sum()
        value.backward()
        tell(f"lpips {net}", value)
        tell("slope", x.grad)


main()
