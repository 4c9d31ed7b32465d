"""Losses and helpers of pytorch-toolbelt: focal, Lovász, Jaccard and Dice losses, turned pictures at test time, tiles."""
import numpy as np
import torch
from pytorch_toolbelt import losses
from pytorch_toolbelt.inference import tta
from pytorch_toolbelt.inference.tiles import ImageSlicer, TileMerger
from pytorch_toolbelt.utils.torch_utils import count_parameters, image_to_tensor, to_numpy
from report import tell
from torch import nn


def main():
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 8, 8, requires_grad=True)
    labels = torch.randint(0, 3, (2, 8, 8))
    binary, truth = torch.randn(2, 1, 8, 8, requires_grad=True), torch.randint(0, 2, (2, 1, 8, 8)).float()
    for name, made in {"dice": losses.DiceLoss("multiclass"), "jaccard": losses.JaccardLoss("multiclass"),
                       "lovasz": losses.LovaszLoss(), "focal": losses.CrossEntropyFocalLoss(),
                       "smooth": losses.SoftCrossEntropyLoss(smooth_factor=0.1)}.items():
        loss = made(scores, labels)
        tell(name, loss)
        tell("gradient", torch.autograd.grad(loss, scores)[0])
    for name, made in {"binary focal": losses.BinaryFocalLoss(), "soft": losses.SoftBCEWithLogitsLoss(),
                       "hinge": losses.BinaryLovaszLoss()}.items():
        loss = made(binary, truth)
        tell(name, loss)
        tell("gradient", torch.autograd.grad(loss, binary)[0])
    net = nn.Conv2d(3, 2, 3, padding=1)
    picture = torch.randn(1, 3, 16, 16)
    tell("turned", tta.d4_image2mask(net, picture))
    tell("flipped", tta.fliplr_image2mask(net, picture))
    tell("parameters", count_parameters(net)["total"])
    whole = np.arange(40 * 40 * 3, dtype=np.float32).reshape(40, 40, 3) / 4800
    slicer = ImageSlicer(whole.shape, tile_size=16, tile_step=8, weight="pyramid")
    merger = TileMerger(slicer.target_shape, 2, slicer.weight)
    for tile, place in zip(slicer.split(whole), slicer.crops):
        merger.integrate_batch(net(image_to_tensor(tile)[None]).detach(), torch.tensor([place]))
    tell("merged", slicer.crop_to_orignal_size(np.moveaxis(to_numpy(merger.merge()), 0, -1)))


main()
