"""Learning without labels by lightly: losses of SimCLR, BYOL, Barlow twins, VICReg and DINO, heads, a queue of memories."""
import torch
from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.models.modules import BYOLProjectionHead, SimCLRProjectionHead, SwaVPrototypes
from lightly.models.utils import deactivate_requires_grad, update_momentum
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    for loss in (NTXentLoss(), NTXentLoss(memory_bank_size=(16, 8)), BarlowTwinsLoss(), VICRegLoss(), NegativeCosineSimilarity()):
        torch.manual_seed(1)
        head = SimCLRProjectionHead(16, 16, 8)
        optimizer = torch.optim.SGD(head.parameters(), 0.05)
        for _ in range(2):
            value = loss(head(x), head(y))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            tell(type(loss).__name__, value)
    torch.manual_seed(2)
    student, teacher = BYOLProjectionHead(16, 16, 8), BYOLProjectionHead(16, 16, 8)
    deactivate_requires_grad(teacher)
    update_momentum(student, teacher, 0.9)
    tell("momentum", next(teacher.parameters()))
    tell("dino", DINOLoss(output_dim=8)([teacher(x), teacher(y)], [student(x), student(y)], epoch=1))
    prototypes = SwaVPrototypes(8, 4)
    tell("swav", SwaVLoss()([prototypes(student(x)), prototypes(student(y))], [prototypes(student(x + y))]))


main()
