"""A LightningModule trained by the Trainer, with validation, early stopping, checkpoints and a learning rate schedule."""
import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from report import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, width=16, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Linear(4, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        logits = self(x)
        self.log("val_loss", nn.functional.cross_entropy(logits, y))
        self.log("val_accuracy", (logits.argmax(-1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


def main():
    L.seed_everything(3)
    x = torch.randn(240, 4)
    y = (x @ torch.randn(4, 3)).argmax(-1)
    train = DataLoader(TensorDataset(x[:180], y[:180]), batch_size=32, shuffle=True)
    check = DataLoader(TensorDataset(x[180:], y[180:]), batch_size=60)
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(dirpath=folder, monitor="val_loss")
        trainer = L.Trainer(max_epochs=5, accelerator="cpu", logger=CSVLogger(folder), enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[best, EarlyStopping("val_loss", patience=3)],
                            gradient_clip_val=1.0, log_every_n_steps=1)
        model = Classifier()
        trainer.fit(model, train, check)
        tell("measured", {key: float(value) for key, value in trainer.callback_metrics.items()})
        tell("best loss", best.best_model_score)
        again = Classifier.load_from_checkpoint(best.best_model_path, weights_only=False)
        again.eval()
        with torch.no_grad():
            tell("logits of the best", again(x[180:]))
        tell("validated", trainer.validate(again, check, verbose=False)[0])
        predicted = trainer.predict(again, DataLoader(TensorDataset(x[:8]), batch_size=4, collate_fn=lambda rows: torch.stack([r[0] for r in rows])))
        tell("predicted", torch.cat(predicted))


main()
