"""Training loops of torchbearer, argus and pytorch-pfn-extras, and delu's helpers, on one small regression."""
import argus
import delu
import pytorch_pfn_extras as ppe
import torch
from report import tell
from torch.utils.data import DataLoader, TensorDataset
from torchbearer import Trial


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def forward(self, x):
        return self.body(x)


class ArgusModel(argus.Model):
    nn_module = Net
    loss = torch.nn.MSELoss
    optimizer = torch.optim.SGD


def main():
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=8)

    torch.manual_seed(1)
    model = Net()
    trial = Trial(model, torch.optim.Adam(model.parameters(), lr=0.01), torch.nn.MSELoss(), metrics=["mse", "loss"])
    history = trial.with_generators(train_generator=loader, val_generator=loader).run(epochs=3, verbose=0)
    tell("torchbearer", [{key: value for key, value in epoch.items() if "mse" in key} for epoch in history][-1])
    tell("torchbearer.predictions", trial.with_test_generator(DataLoader(TensorDataset(x), batch_size=8)).predict(verbose=0))

    torch.manual_seed(1)
    learner = ArgusModel({"nn_module": {}, "optimizer": {"lr": 0.05}, "device": "cpu"})
    learner.fit(loader, val_loader=loader, num_epochs=3, metrics=["loss"])
    tell("argus", learner.validate(loader)["val_loss"])
    tell("argus.predictions", learner.predict(x[:4]))

    torch.manual_seed(1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    manager = ppe.training.ExtensionsManager(net, optimizer, 2, iters_per_epoch=len(loader))
    for _ in range(2):
        for inputs, wanted in loader:
            with manager.run_iteration():
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(net(inputs), wanted)
                ppe.reporting.report({"loss": loss.item()})
                loss.backward()
                optimizer.step()
                tell("ppe", loss)
    lazy = torch.nn.Sequential(ppe.nn.LazyLinear(None, 5), torch.nn.Flatten(), ppe.nn.LazyLinear(None, 2))
    tell("ppe.lazy", list(lazy(x).shape))

    delu.random.seed(3)
    tell("delu.seeded", torch.rand(3))
    stop = delu.tools.EarlyStopping(2, mode="max")
    tell("delu.stops", [(stop.update(score), stop.should_stop())[1] for score in (1.0, 0.5, 0.4, 0.3)])
    tell("delu.batches", [len(batch) for batch in delu.iter_batches(x, 10)])
    tell("delu.concatenated", delu.cat([(x[:2], y[:2]), (x[2:3], y[2:3])], dim=0)[1])


main()
