"""MONAI: a U-Net trained on generated discs with Dice loss, transforms with dictionaries, metrics, sliding windows."""
import numpy as np
import torch
from monai.data import CacheDataset, DataLoader, MetaTensor, create_test_image_2d, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import DenseNet, UNet
from monai.transforms import (
    Activations,
    AsDiscrete,
    Compose,
    EnsureChannelFirstd,
    EnsureTyped,
    RandFlipd,
    RandRotate90d,
    ScaleIntensityd,
)
from monai.utils import set_determinism
from report import tell


def main():
    set_determinism(0)
    pairs = [create_test_image_2d(32, 32, num_objs=3, rad_max=8, random_state=np.random.RandomState(i)) for i in range(6)]
    rows = [{"image": image.astype(np.float32), "mask": (mask > 0).astype(np.float32)} for image, mask in pairs]
    steps = Compose([EnsureChannelFirstd(keys=["image", "mask"], channel_dim="no_channel"), ScaleIntensityd(keys="image"),
                     RandFlipd(keys=["image", "mask"], prob=0.5, spatial_axis=0),
                     RandRotate90d(keys=["image", "mask"], prob=0.5), EnsureTyped(keys=["image", "mask"])])
    loader = DataLoader(CacheDataset(rows, steps, progress=False), batch_size=3)
    model = UNet(spatial_dims=2, in_channels=1, out_channels=1, channels=(8, 16, 32), strides=(2, 2), num_res_units=1)
    criterion, optimizer = DiceLoss(sigmoid=True), torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        for batch in loader:
            optimizer.zero_grad()
            loss = criterion(model(batch["image"]), batch["mask"])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    tell("losses", losses)
    tell("kind", type(batch["image"]).__name__)
    model.eval()
    measure = DiceMetric(include_background=True, reduction="mean")
    after = Compose([Activations(sigmoid=True), AsDiscrete(threshold=0.5)])
    with torch.no_grad():
        for batch in loader:
            outputs = sliding_window_inference(batch["image"], (16, 16), 4, model, overlap=0.25)
            measure(y_pred=[after(part) for part in decollate_batch(outputs)], y=decollate_batch(batch["mask"]))
    tell("outputs", outputs)
    tell("dice", measure.aggregate())
    torch.manual_seed(1)
    logits, target = torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 1, 8, 8))
    tell("dice and cross entropy", DiceCELoss(to_onehot_y=True, softmax=True)(logits, target))
    tell("focal", FocalLoss(to_onehot_y=True)(logits, target))
    dense = DenseNet(spatial_dims=2, in_channels=1, out_channels=2, init_features=8, growth_rate=4, block_config=(2, 2))
    tell("densenet", dense(torch.randn(2, 1, 16, 16)))
    tagged = MetaTensor(torch.arange(4.0).reshape(2, 2), affine=torch.eye(4))
    tell("tagged", type(tagged + 1).__name__)


main()
