"""Sound: losses of auraloss over spectra and time, filters and resampling of julius, with gradients."""
import auraloss
import julius
import torch
from report import tell


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    target = torch.sin(torch.arange(4096.0) * 0.05).expand(2, 1, -1) + 0.05 * torch.randn(2, 1, 4096)
    for loss in (auraloss.freq.STFTLoss(), auraloss.freq.MultiResolutionSTFTLoss(), auraloss.freq.STFTLoss(fft_size=512, win_length=512, hop_size=128, w_log_mag=0.0, w_lin_mag=1.0),
                 auraloss.time.ESRLoss(), auraloss.time.LogCoshLoss(), auraloss.time.SISDRLoss(), auraloss.time.SDSDRLoss(), auraloss.time.DCLoss()):
        x = (target + 0.1 * torch.randn_like(target)).requires_grad_()
        value = loss(x, target)
        value.backward()
        tell(type(loss).__name__, value)
        tell("gradient", x.grad)
    x = target.clone().requires_grad_()
    for name, out in (("low", julius.lowpass_filter(x, 0.1)), ("high", julius.highpass_filter(x, 0.1)), ("slower", julius.resample_frac(x, 4, 3)), ("bands", julius.split_bands(x, 1.0, n_bands=3)),
                      ("fft", julius.fft_conv1d(x, torch.ones(1, 1, 64)))):
        grad, = torch.autograd.grad(out.pow(2).sum(), x)
        tell(name, out)
        tell("gradient", grad)


main()
