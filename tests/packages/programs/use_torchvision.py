"""torchvision's Python parts: models trained a little, transforms of tensors and boxes, operations on boxes, grids of images."""
import torch
from report import tell
from torchvision import models, ops, tv_tensors, utils
from torchvision.datasets import FakeData
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as TF


def train(name, model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    losses = []
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tell(f"{name} losses", losses)
    model.eval()
    with torch.no_grad():
        tell(f"{name} logits", model(x))


def main():
    for name in ("resnet18", "mobilenet_v3_small", "squeezenet1_1"):
        torch.manual_seed(0)
        train(name, models.get_model(name, weights=None, num_classes=5), torch.randn(2, 3, 64, 64), torch.tensor([1, 4]))
    torch.manual_seed(0)             # in float64: its BatchNorms over 8 numbers magnify how float32 rounds, in PyTorch as much
    train("shufflenet_v2_x0_5", models.shufflenet_v2_x0_5(weights=None, num_classes=5).double(), torch.randn(2, 3, 64, 64).double(),
          torch.tensor([1, 4]))
    torch.manual_seed(0)
    vit = models.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=5)
    train("vision transformer", vit, torch.randn(2, 3, 32, 32), torch.tensor([1, 4]))
    torch.manual_seed(0)
    segment = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3).eval()
    tell("segmentation", segment(torch.randn(1, 3, 64, 64))["out"])

    torch.manual_seed(1)
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    chain = v2.Compose([v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip(), v2.ColorJitter(0.3, 0.3, 0.3),
                        v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3), v2.RandomErasing(1.0)])
    for i in range(3):
        tell(f"transformed {i}", chain(image))
    tell("rotated", TF.rotate(image, 30.0))
    tell("blurred", TF.gaussian_blur(image, [5, 5]))
    tell("equalized", TF.equalize(image))
    tell("perspective", v2.RandomPerspective(p=1.0)(image))
    tell("elastic", v2.ElasticTransform()(image))
    tell("affine", v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2))(image))
    tell("augmented", v2.RandAugment()(image))
    boxes = tv_tensors.BoundingBoxes([[2, 3, 20, 30], [10, 10, 40, 35]], format="XYXY", canvas_size=(40, 50))
    out_image, out_boxes = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.Resize((20, 25))])(tv_tensors.Image(image), boxes)
    tell("kinds", [type(out_image).__name__, type(out_boxes).__name__])
    tell("boxes", out_boxes)

    a = torch.tensor([[0.0, 0.0, 10.0, 10.0], [5.0, 5.0, 15.0, 15.0], [20.0, 20.0, 30.0, 25.0]])
    tell("iou", ops.box_iou(a, a))
    tell("generalized", ops.generalized_box_iou(a, a + 1))
    tell("area", ops.box_area(a))
    tell("converted", ops.box_convert(a, "xyxy", "cxcywh"))
    tell("focal", ops.sigmoid_focal_loss(torch.randn(4, 3), torch.rand(4, 3).round(), reduction="mean"))
    tell("dropped", ops.stochastic_depth(torch.ones(4, 2), 0.5, "row"))
    tell("squeezed", ops.SqueezeExcitation(8, 2)(torch.randn(1, 8, 4, 4)))
    tell("pyramid", ops.FeaturePyramidNetwork([4, 8], 5)({"a": torch.randn(1, 4, 8, 8), "b": torch.randn(1, 8, 4, 4)})["b"])
    tell("grid", utils.make_grid(torch.rand(5, 3, 6, 6), nrow=3))
    tell("drawn", utils.draw_bounding_boxes(image, boxes[:1], width=2))
    data = FakeData(4, (3, 8, 8), 3, transform=v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]))
    tell("data", torch.stack([x for x, _ in data]))


main()
