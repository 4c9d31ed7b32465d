"""Wavelets of ptwt: transforms of lines, fields and volumes there and back, packets, with gradients."""
import ptwt
import pywt
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 64, dtype=torch.float64, requires_grad=True)
    parts = ptwt.wavedec(x, pywt.Wavelet("db3"), mode="zero", level=2)
    tell("parts", parts[1])
    tell("back", ptwt.waverec(parts, pywt.Wavelet("db3")))
    tell("gradient", torch.autograd.grad(parts[0].pow(4).sum(), x)[0])
    field = torch.randn(1, 16, 16, dtype=torch.float64)
    wide = ptwt.wavedec2(field, pywt.Wavelet("haar"), level=2)
    tell("field", wide[0])
    tell("field back", ptwt.waverec2(wide, pywt.Wavelet("haar")))
    packets = ptwt.WaveletPacket(x.detach(), pywt.Wavelet("haar"), mode="reflect", maxlevel=2)
    tell("packets", packets["ad"])
    tell("continuous", ptwt.cwt(x.detach(), torch.arange(1, 6).numpy(), "mexh")[0])


main()
