"""A variational autoencoder of generated stripes, as PyTorch's VAE example."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    """Pictures of 8 by 8 with a few bright rows or columns."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.images = torch.zeros(count, 8, 8)
        for image in self.images:
            rows = torch.rand(8, generator=generator) < 0.25
            if torch.rand((), generator=generator) < 0.5:
                image[rows] = 1.0
            else:
                image[:, rows] = 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, 6)
        self.fc22 = nn.Linear(40, 6)
        self.fc3 = nn.Linear(6, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


torch.manual_seed(7)
loader = DataLoader(Stripes(256, 0), batch_size=32, shuffle=True, drop_last=True)
check = DataLoader(Stripes(64, 1), batch_size=64)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 5):
    model.train()
    total = 0
    for data in loader:
        optimizer.zero_grad()
        loss = loss_function(*(lambda out, d=data: (out[0], d, out[1], out[2]))(model(data)))
        loss.backward()
        total += loss.item()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        data = next(iter(check))
        recon, mu, logvar = model(data)
        tested = loss_function(recon, data, mu, logvar).item() / len(data)
    print(f"====> Epoch: {epoch} Average loss: {total / len(loader.dataset):.4f} Test: {tested:.4f}")
with torch.no_grad():
    print(model.decode(torch.zeros(1, 6)).view(8, 8).mean(0))
