"""A graph convolutional network by hand, on a generated network of three groups, with index_add and a dense twin."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, edges, norm):
        support = x @ self.weight
        messages = support.index_select(0, edges[0]) * norm.unsqueeze(1)
        return torch.zeros_like(support).index_add_(0, edges[1], messages) + self.bias

    def extra_repr(self):
        return "{}, {}".format(*self.weight.shape)


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1, self.gc2, self.dropout = GraphConvolution(nfeat, nhid), GraphConvolution(nhid, nclass), dropout

    def forward(self, x, edges, norm):
        x = F.relu(self.gc1(x, edges, norm))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, edges, norm), dim=1)


torch.manual_seed(5)
n = 60
labels = torch.arange(n) % 3
same = labels[:, None] == labels[None]
adjacency = torch.rand(n, n) < torch.where(same, 0.3, 0.02)
adjacency = adjacency | adjacency.t() | torch.eye(n, dtype=torch.bool)
edges = adjacency.nonzero().t()
degree = torch.bincount(edges[0], minlength=n).float()
norm = degree[edges[0]].rsqrt() * degree[edges[1]].rsqrt()
features = torch.randn(n, 8) + F.one_hot(labels, 8) * 0.5
shuffled = torch.randperm(n)
train, test = shuffled[:15], shuffled[15:]
print("edges", edges.size(1), "degree", degree.mean().item())

model = GCN(8, 16, 3, 0.5)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(features, edges, norm)
    loss = F.nll_loss(output[train], labels[train])
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            output = model(features, edges, norm)
        accuracy = (output[test].argmax(1) == labels[test]).double().mean()
        print(f"Epoch: {epoch:04d} loss: {loss.item():.4f} test: {F.nll_loss(output[test], labels[test]).item():.4f} accuracy: {accuracy.item():.3f}")
dense = torch.zeros(n, n).index_put_((edges[1], edges[0]), norm)
same = F.log_softmax(dense @ F.relu(dense @ features @ model.gc1.weight + model.gc1.bias) @ model.gc2.weight + model.gc2.bias, 1)
print("the dense twin agrees:", torch.allclose(same, output, atol=1e-5))
