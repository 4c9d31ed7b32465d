"""ignite: an engine that trains, an evaluator with metrics, handlers of checkpoints, early stopping and schedules."""
import tempfile

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, LinearCyclicalScheduler, ModelCheckpoint
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, RunningAverage
from report import tell
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(120, 4)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
    loader, check = DataLoader(TensorDataset(x[:96], y[:96]), 16, shuffle=True), DataLoader(TensorDataset(x[96:], y[96:]), 24)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer, criterion = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(criterion), "matrix": ConfusionMatrix(3), "precision": Precision()})
    RunningAverage(output_transform=lambda loss: loss).attach(trainer, "running")
    trainer.add_event_handler(Events.ITERATION_STARTED, LinearCyclicalScheduler(optimizer, "lr", 0.1, 0.01, 12))
    evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(2, lambda engine: -engine.state.metrics["loss"], trainer))
    with tempfile.TemporaryDirectory() as folder:
        keeper = ModelCheckpoint(folder, "best", n_saved=1, score_function=lambda engine: engine.state.metrics["accuracy"], require_empty=False)
        evaluator.add_event_handler(Events.COMPLETED, keeper, {"model": model})

        @trainer.on(Events.EPOCH_COMPLETED)
        def measure(engine):
            evaluator.run(check)
            tell(f"epoch {engine.state.epoch}", {"running": engine.state.metrics["running"], **evaluator.state.metrics})

        trainer.run(loader, max_epochs=3)
        tell("kept", torch.load(keeper.last_checkpoint)["0.bias"])


main()
