"""Keras on its torch backend: a dense, a convolutional and a recurrent model, fitted, predicted, saved and loaded."""
import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from report import tell


def main():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(32, 8, 8, 1)).astype("float32"), rng.integers(3, size=32)
    start = [rng.normal(size=shape).astype("float32") * 0.2 for shape in ((3, 3, 1, 4), (4,), (36, 3), (3,))]
    model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.MaxPooling2D(2), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
    model.set_weights(start)
    model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0)
    tell("convolution", history.history)
    tell("predicted", model.predict(x[:4], verbose=0))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        tell("loaded", keras.models.load_model(f"{folder}/model.keras").predict(x[:4], verbose=0))
    words = rng.integers(20, size=(16, 6))
    model = keras.Sequential([keras.Input((6,)), keras.layers.Embedding(20, 4), keras.layers.LSTM(5, return_sequences=True), keras.layers.GRU(5), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.set_weights([np.abs(rng.normal(size=w.shape).astype("float32")) * 0.3 for w in model.get_weights()])
    model.compile(optimizer="rmsprop", loss="mse")
    tell("recurrent", model.fit(words, rng.normal(size=(16, 1)), epochs=2, batch_size=4, shuffle=False, verbose=0).history)
    tell("drawn", keras.random.normal((3,), seed=1))
    tell("ops", [float(keras.ops.sum(keras.ops.logsumexp(x[0, :, :, 0], axis=1))), float(keras.ops.norm(x[0, :, :, 0]))])


main()
