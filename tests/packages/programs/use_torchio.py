"""torchio: subjects of medical images, transforms in space and of intensity, patches sampled and put together again."""
import warnings

import torch
import torchio as tio
from report import tell


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    subject = tio.Subject(scan=tio.ScalarImage(tensor=torch.rand(1, 16, 18, 20)), label=tio.LabelMap(tensor=(torch.rand(1, 16, 18, 20) > 0.7).float()))
    for transform in (tio.RandomFlip(axes=(0, 1)), tio.RandomAffine(), tio.RandomNoise(), tio.RandomGamma(), tio.RandomBlur(), tio.ZNormalization(),
                      tio.RescaleIntensity((0, 1)), tio.CropOrPad((12, 12, 24)), tio.RandomBiasField(), tio.RandomElasticDeformation(),
                      tio.RandomMotion(), tio.RandomGhosting(), tio.RandomSpike(), tio.OneHot()):
        torch.manual_seed(1)
        done = transform(subject)
        tell(type(transform).__name__, done.scan.data)
        tell("label", done.label.data.float().sum())
    torch.manual_seed(2)
    sampler = tio.UniformSampler(8)
    tell("patches", torch.stack([patch.scan.data.mean() for patch in sampler(subject, 4)]))
    grid = tio.GridSampler(subject, 8, 2)
    loader = tio.SubjectsLoader(grid, batch_size=4)
    together = tio.GridAggregator(grid)
    net = torch.nn.Conv3d(1, 2, 3, padding=1)
    with torch.no_grad():
        for batch in loader:
            together.add_batch(net(batch["scan"][tio.DATA]), batch[tio.LOCATION])
    tell("whole", together.get_output_tensor())


main()
