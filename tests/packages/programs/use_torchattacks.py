"""Attacks of torchattacks and foolbox on a small network: the pictures they make."""
import foolbox
import torch
import torchattacks
from report import tell


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(96, 4)).eval()
    x, y = torch.rand(3, 3, 16, 16), torch.tensor([0, 1, 2])
    for name, options in (("FGSM", {}), ("PGD", {"steps": 3}), ("BIM", {"steps": 3}), ("CW", {"steps": 3}), ("DeepFool", {"steps": 3}), ("MIFGSM", {"steps": 3}),
                          ("TIFGSM", {"steps": 3}), ("DIFGSM", {"steps": 3}), ("APGD", {"steps": 3}), ("FAB", {"steps": 2, "n_classes": 4}), ("Square", {"n_queries": 10})):
        torch.manual_seed(1)
        tell(name, getattr(torchattacks, name)(model, **options)(x, y))
    wrapped = foolbox.PyTorchModel(model, bounds=(0, 1), device="cpu")
    for attack in (foolbox.attacks.LinfPGD(steps=3), foolbox.attacks.L2FastGradientAttack(), foolbox.attacks.LinfDeepFoolAttack(steps=3), foolbox.attacks.L2CarliniWagnerAttack(binary_search_steps=2, steps=4)):
        torch.manual_seed(1)
        raw, clipped, success = attack(wrapped, x, y, epsilons=[0.03])
        tell(type(attack).__name__, clipped[0])
        tell("success", success.float())


main()
