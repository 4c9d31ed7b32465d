"""Conditional flows of zuko: neural spline and masked autoregressive flows, log-densities and samples."""
import torch
import zuko
from report import tell


def main():
    torch.manual_seed(0)
    context = torch.randn(64, 2)
    x = torch.cat([context.sum(1, keepdim=True), context[:, :1] ** 2, torch.zeros(64, 1)], 1) + 0.2 * torch.randn(64, 3)
    for kind in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.NICE):
        torch.manual_seed(1)
        flow = kind(3, 2, transforms=2, hidden_features=(16,))
        optimizer = torch.optim.Adam(flow.parameters(), 5e-3)
        for _ in range(4):
            loss = -flow(context).log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(f"{kind.__name__} loss", loss)
        torch.manual_seed(2)
        tell("drawn", flow(context[:2]).sample((3,)))
        tell("reparameterized", flow(context[:1]).rsample_and_log_prob((2,))[1])


main()
