"""Attacks of the adversarial-robustness-toolbox on a small network: fast gradient, projected gradient, DeepFool."""
import numpy as np
import torch
from art.attacks.evasion import DeepFool, FastGradientMethod, ProjectedGradientDescent
from art.estimators.classification import PyTorchClassifier
from report import tell


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    classifier = PyTorchClassifier(model, torch.nn.CrossEntropyLoss(), (6,), 3, torch.optim.Adam(model.parameters(), 0.01),
                                   clip_values=(-3.0, 3.0), device_type="cpu")
    x = np.random.randn(24, 6).astype("float32")
    y = np.eye(3, dtype="float32")[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0)]
    classifier.fit(x, y, batch_size=24, nb_epochs=4)
    tell("predicted", classifier.predict(x))
    tell("fast", FastGradientMethod(classifier, eps=0.2).generate(x, y))
    tell("projected", ProjectedGradientDescent(classifier, eps=0.2, eps_step=0.05, max_iter=4, verbose=False).generate(x, y))
    tell("deepfool", DeepFool(classifier, max_iter=3, verbose=False).generate(x[:4]))


main()
