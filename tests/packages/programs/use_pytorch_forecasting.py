"""The temporal fusion transformer and N-BEATS of pytorch-forecasting on a table of series: forward, quantile loss, a step."""
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import SMAPE, QuantileLoss
from report import tell


def main():
    numbers = np.random.default_rng(0)
    table = pd.DataFrame({"time": np.tile(np.arange(30), 2), "series": np.repeat(["a", "b"], 30),
                          "value": numbers.normal(size=60).cumsum()})
    common = dict(time_idx="time", target="value", group_ids=["series"], max_encoder_length=8, max_prediction_length=3,
                  time_varying_unknown_reals=["value"])
    data = TimeSeriesDataSet(table, add_relative_time_idx=False, **common)
    x, y = next(iter(data.to_dataloader(train=False, batch_size=6, num_workers=0)))
    for name, model in (("N-BEATS", lambda: NBeats.from_dataset(data, widths=[16, 16], loss=SMAPE(), num_blocks=[1, 1])),
                        ("TFT", lambda: TemporalFusionTransformer.from_dataset(data, hidden_size=8, attention_head_size=2,
                                                                               dropout=0.0, loss=QuantileLoss()))):
        torch.manual_seed(0)
        net = model()
        for p in net.parameters():
            torch.nn.init.normal_(p, std=0.1)
        out = net(x)["prediction"]
        loss = net.loss(out, y)
        loss.backward()
        tell(f"{name} loss", loss)
        tell("out", out)
        tell("gradient", sum(p.grad.abs().sum() for p in net.parameters() if p.grad is not None))


main()
