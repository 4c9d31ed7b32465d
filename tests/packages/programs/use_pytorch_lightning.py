"""The package pytorch-lightning: a module trained with accumulated gradients, clipping and callbacks, tested, saved and loaded."""
import tempfile
import warnings

import pytorch_lightning as pl
import torch
from report import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(pl.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)

    def training_step(self, batch):
        loss = self.step(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch):
        self.log("val", self.step(batch), prog_bar=True)

    def test_step(self, batch):
        self.log("test", self.step(batch))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), 0.1, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def main():
    warnings.simplefilter("ignore")
    pl.seed_everything(3)
    x = torch.randn(40, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True).sin())
    with tempfile.TemporaryDirectory() as folder:
        model = Model()
        trainer = pl.Trainer(max_epochs=3, accumulate_grad_batches=2, gradient_clip_val=0.5, logger=False, accelerator="cpu",
                             default_root_dir=folder, enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(model, DataLoader(data, 8, shuffle=True), DataLoader(data, 10))
        tell("metrics", {name: float(value) for name, value in trainer.callback_metrics.items()})
        tell("test", trainer.test(model, DataLoader(data, 10), verbose=False)[0])
        trainer.save_checkpoint(f"{folder}/m.ckpt")
        again = Model.load_from_checkpoint(f"{folder}/m.ckpt")
        tell("width", again.hparams.width)
        tell("predictions", again.net(x))


main()
