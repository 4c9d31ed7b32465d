"""Normalizing flows of normflows: Real NVP, planar and spline flows fitted to two moons and drawn from."""
import normflows as nf
import torch
from report import tell


def main():
    torch.manual_seed(0)
    target = nf.distributions.TwoMoons()
    x = target.sample(64)
    tell("target", target.log_prob(x))
    for kind in ("affine", "spline", "planar", "autoregressive"):
        torch.manual_seed(1)
        layers = []
        for number in range(3):
            if kind == "affine":
                layers += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 8, 2], init_zeros=False)), nf.flows.Permute(2, mode="swap")]
            elif kind == "spline":
                layers += [nf.flows.CoupledRationalQuadraticSpline(2, 1, 8, reverse_mask=bool(number % 2)), nf.flows.LULinearPermute(2)]
            elif kind == "autoregressive":
                layers += [nf.flows.MaskedAffineAutoregressive(2, 8), nf.flows.ActNorm(2)]
            else:
                layers += [nf.flows.Planar((2,))]
        model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), layers, p=target)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        for _ in range(3):
            loss = model.reverse_kld(16) if kind == "planar" else model.forward_kld(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(f"{kind} loss", loss)
        torch.manual_seed(2)
        drawn, density = model.sample(4)
        tell("drawn", drawn)
        tell("density", density)


main()
