"""Click models of deepctr-torch: DeepFM, DCN and xDeepFM on sparse and dense features, fitted and asked."""
import numpy as np
import torch
from deepctr_torch.inputs import DenseFeat, SparseFeat
from deepctr_torch.models import DCN, DeepFM, xDeepFM
from report import tell


def main():
    numbers = np.random.default_rng(0)
    columns = [SparseFeat("user", 8, 4), SparseFeat("item", 6, 4), DenseFeat("age", 1)]
    x = {"user": numbers.integers(0, 8, 64), "item": numbers.integers(0, 6, 64), "age": numbers.random(64).astype("float32")}
    y = ((x["user"] + x["item"]) % 2).astype("float32")
    for kind in (DeepFM, DCN, xDeepFM):
        torch.manual_seed(0)
        model = kind(columns, columns, dnn_hidden_units=(16, 8), seed=0, device="cpu")
        model.compile("adagrad", "binary_crossentropy", metrics=["binary_crossentropy"])
        history = model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
        tell(f"{kind.__name__} loss", [float(v) for v in history.history["loss"]])
        tell("predicted", model.predict(x, batch_size=32))


main()
