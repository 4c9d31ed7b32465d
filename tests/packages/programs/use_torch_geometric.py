"""Graph networks: GCN, GAT, SAGE and GIN on a generated graph, batches of graphs, pooling, sampled edges."""
import torch
import torch.nn.functional as F
from report import tell
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_add_pool, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, scatter, to_dense_adj, to_undirected


class Net(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.first, self.second = conv(6, 16), conv(16, 3)

    def forward(self, x, edges):
        return self.second(F.dropout(self.first(x, edges).relu(), 0.2, self.training), edges)


def main():
    torch.manual_seed(0)
    x, y = torch.randn(30, 6), torch.randint(0, 3, (30,))
    edges = to_undirected(torch.randint(0, 30, (2, 60)))
    data = Data(x=x, edge_index=edges, y=y)
    tell("edges", data.num_edges)
    tell("degree", degree(edges[0], 30))
    tell("dense", to_dense_adj(edges).sum(-1))
    tell("loops", add_self_loops(edges)[0][:, -3:])
    tell("scattered", scatter(x, y, dim=0, reduce="mean"))
    tell("scattered by max", scatter(x, y, dim=0, reduce="max"))
    kinds = {"GCN": GCNConv, "GAT": lambda a, b: GATConv(a, b, heads=2, concat=False), "SAGE": SAGEConv,
             "GIN": lambda a, b: GINConv(torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b)))}
    for name, conv in kinds.items():
        torch.manual_seed(1)
        model = Net(conv)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x, data.edge_index), data.y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        tell(f"{name} losses", losses)
        model.eval()
        tell(f"{name} outputs", model(x, edges))

    torch.manual_seed(2)
    graphs = [Data(x=torch.randn(n, 6), edge_index=torch.randint(0, n, (2, 2 * n)), y=torch.tensor([n % 2])) for n in range(4, 12)]
    for batch in DataLoader(graphs, batch_size=4, shuffle=True):
        tell("batch", batch.batch)
        tell("pooled", global_mean_pool(batch.x, batch.batch))
        tell("added", global_add_pool(batch.x, batch.batch))
    tell("one", Batch.from_data_list(graphs)[2].x)


main()
