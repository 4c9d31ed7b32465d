"""Outliers by pyod's networks: an autoencoder, a variational one and deep SVDD, fitted to a cloud with strangers in it."""
import logging
import warnings

import numpy as np
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.deep_svdd import DeepSVDD
from report import tell

logging.disable(logging.CRITICAL)


def main():
    warnings.simplefilter("ignore")
    rng = np.random.RandomState(0)
    x = rng.randn(64, 6).astype("float32")
    x[-4:] += 6
    model = AutoEncoder(epoch_num=3, batch_size=16, hidden_neuron_list=[8, 4], random_state=3, verbose=0, dropout_rate=0.0)
    model.fit(x)
    tell("autoencoder", model.decision_scores_)
    tell("labels", int(model.labels_[-4:].sum()))
    model = DeepSVDD(n_features=6, epochs=3, batch_size=16, hidden_neurons=[8, 4], random_state=3, verbose=0, dropout_rate=0.0)
    model.fit(x)
    tell("svdd", model.decision_scores_)


main()
