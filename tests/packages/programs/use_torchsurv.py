"""Survival: Cox and Weibull losses and the concordance index of torchsurv, pycox's CoxPH trained through torchtuples."""
import numpy as np
import torch
import torchtuples
from pycox.models import CoxPH
from report import tell
from torchsurv.loss import cox, weibull
from torchsurv.metrics.cindex import ConcordanceIndex


def main():
    torch.manual_seed(0)
    x, time = torch.randn(40, 5), torch.rand(40) * 10
    event = torch.rand(40) < 0.7
    weight = torch.zeros(5, 1, requires_grad=True)
    for step in range(3):
        loss = cox.neg_partial_log_likelihood(x @ weight, event, time)
        (gradient,) = torch.autograd.grad(loss, weight)
        weight = (weight - 0.1 * gradient).detach().requires_grad_()
        tell("cox", loss)
    tell("weibull", weibull.neg_log_likelihood_weibull(torch.cat([x[:, :1], x[:, 1:2]], 1), event, time))
    tell("concordance", ConcordanceIndex()(x @ weight.detach(), event, time))
    torch.manual_seed(1)
    np.random.seed(0)
    net = torchtuples.practical.MLPVanilla(5, [8], 1, batch_norm=False, dropout=None, output_bias=False)
    model = CoxPH(net, torchtuples.optim.Adam(0.01))
    target = (time.numpy(), event.numpy().astype("float32"))
    log = model.fit(x.numpy(), target, batch_size=40, epochs=3, verbose=False, shuffle=False)
    tell("coxph", [float(v) for v in log.to_pandas()["train_loss"]])
    model.compute_baseline_hazards()
    tell("survival", model.predict_surv_df(x.numpy()[:3]).to_numpy()[:8])


main()
