"""kornia: filters, geometry, colour, features and augmentations of images, with gradients through them."""
import kornia as K
import kornia.augmentation as KA
import torch
from report import tell


def main():
    torch.manual_seed(0)
    image = torch.rand(2, 3, 24, 32)
    tell("grey", K.color.rgb_to_grayscale(image))
    tell("hsv", K.color.rgb_to_hsv(image))
    tell("lab", K.color.rgb_to_lab(image))
    tell("blurred", K.filters.gaussian_blur2d(image, (5, 5), (1.5, 1.5)))
    tell("edges", K.filters.sobel(image))
    tell("canny", K.filters.canny(image)[0])
    tell("median", K.filters.median_blur(image, (3, 3)))
    tell("bilateral", K.filters.bilateral_blur(image, (3, 3), 0.1, (1.5, 1.5)))
    tell("dilated", K.morphology.dilation(image, torch.ones(3, 3)))
    tell("corners", K.feature.harris_response(K.color.rgb_to_grayscale(image)))
    tell("rotated", K.geometry.transform.rotate(image, torch.tensor([30.0, -10.0])))
    tell("pyramid", K.geometry.transform.pyrdown(image))
    square = torch.tensor([[[0.0, 0.0], [31.0, 0.0], [31.0, 23.0], [0.0, 23.0]]])
    moved = square + torch.tensor([[[1.0, 2.0], [-3.0, 1.0], [0.0, -2.0], [2.0, 0.0]]])
    homography = K.geometry.transform.get_perspective_transform(square, moved)
    tell("homography", homography)
    tell("warped", K.geometry.transform.warp_perspective(image[:1], homography, (24, 32)))
    turns = torch.tensor([[0.1, 0.2, 0.3], [0.0, 1.0, 0.0]])
    tell("rotation", K.geometry.conversions.axis_angle_to_rotation_matrix(turns))
    tell("quaternion", K.geometry.conversions.axis_angle_to_quaternion(turns))
    tell("ssim", K.metrics.ssim(image, image * 0.8, 5))
    tell("ssim loss", K.losses.ssim_loss(image, image * 0.8, 5))
    tell("focal", K.losses.focal_loss(torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4)), 0.5, reduction="mean"))
    torch.manual_seed(1)
    chain = KA.AugmentationSequential(KA.RandomHorizontalFlip(p=0.5), KA.RandomAffine(20.0, p=1.0), KA.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
                                      KA.RandomCrop((16, 16)), data_keys=["input", "mask"])
    changed, mask = chain(image, (image[:, :1] > 0.5).float())
    tell("augmented", changed)
    tell("mask", mask)
    angle = torch.tensor([5.0, 5.0], requires_grad=True)
    optimizer = torch.optim.Adam([angle], 1.0)
    target = K.geometry.transform.rotate(image, torch.tensor([12.0, -8.0]))
    for _ in range(4):
        loss = (K.geometry.transform.rotate(image, angle) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tell("angle", angle)


main()
