"""TabNet: a classifier of a table, fitted, with its masks and importances."""
import numpy as np
import torch
from pytorch_tabnet.tab_model import TabNetClassifier
from report import tell


def main():
    generator = np.random.RandomState(0)
    x = generator.randn(256, 6).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, optimizer_fn=torch.optim.Adam, device_name="cpu")
    model.fit(x[:192], y[:192], eval_set=[(x[192:], y[192:])], max_epochs=3, batch_size=64, virtual_batch_size=32, drop_last=True)
    tell("losses", model.history["loss"])
    tell("auc", [float(v) for v in model.history["val_0_auc"]])
    tell("probabilities", model.predict_proba(x[:10]))
    tell("importances", model.feature_importances_)


main()
