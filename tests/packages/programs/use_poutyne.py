"""poutyne's Model: trained on arrays and loaders, with metrics, callbacks and gradual unfreezing, evaluated."""
import warnings

import numpy as np
from poutyne import EarlyStopping, Model, SKLearnMetrics, set_seeds
from report import tell
from sklearn.metrics import roc_auc_score
from torch import nn


def main():
    warnings.simplefilter("ignore")
    set_seeds(5)
    x = np.random.randn(96, 6).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int64")
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
    model = Model(net, "adam", "cross_entropy", batch_metrics=["accuracy"], epoch_metrics=["f1"])
    history = model.fit(x, y, validation_data=(x[:32], y[:32]), epochs=3, batch_size=16, verbose=False,
                        callbacks=[EarlyStopping(patience=2)])
    for epoch in history:
        tell("epoch", {name: value for name, value in epoch.items() if name != "time"})
    loss, metrics = model.evaluate(x, y, verbose=False)
    tell("loss", loss)
    tell("metrics", [float(m) for m in metrics])
    tell("predictions", model.predict(x[:4], verbose=False))
    tell("score", SKLearnMetrics(roc_auc_score) is not None)


main()
