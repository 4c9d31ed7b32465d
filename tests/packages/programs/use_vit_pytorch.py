"""Vision transformers of vit-pytorch: several kinds trained a step, one by distillation, one masked."""
import torch
from report import tell
from vit_pytorch import ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cvt import CvT
from vit_pytorch.distill import DistillableViT, DistillWrapper
from vit_pytorch.mobile_vit import MobileViT
from vit_pytorch.na_vit import NaViT
from vit_pytorch.pit import PiT
from vit_pytorch.simple_vit import SimpleViT


def main():
    torch.manual_seed(0)
    x, y = torch.rand(2, 3, 32, 32), torch.tensor([1, 3])
    common = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "heads": 2, "mlp_dim": 32}
    makers = {"ViT": lambda: ViT(**common, depth=2, dropout=0.1), "SimpleViT": lambda: SimpleViT(**common, depth=2),
              "CaiT": lambda: CaiT(**common, depth=2, cls_depth=1), "PiT": lambda: PiT(**common, depth=(1, 1)),
              "CvT": lambda: CvT(num_classes=5, s1_emb_dim=8, s2_emb_dim=8, s2_heads=1, s3_emb_dim=16, s3_heads=1, s3_depth=1),
              "MobileViT": lambda: MobileViT((32, 32), [8, 8, 8], [4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8], 5, patch_size=(1, 1), depths=(1, 1, 1))}
    for name, make in makers.items():
        torch.manual_seed(0)
        model = make()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(name, loss)
    torch.manual_seed(1)
    several = NaViT(**common, depth=1)
    scores = several([[torch.rand(3, 16, 24), torch.rand(3, 32, 16)], [torch.rand(3, 8, 32)]])
    tell("NaViT", scores)
    student = DistillableViT(**common, depth=1)
    teacher = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 5))
    loss = DistillWrapper(student=student, teacher=teacher, temperature=3, alpha=0.5)(x, y)
    loss.backward()
    tell("distilled", loss)


main()
