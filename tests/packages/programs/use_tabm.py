"""Tables: TabM's ensembles in one network, and embeddings of numbers by rtdl-num-embeddings."""
import rtdl_num_embeddings as embeddings
import tabm
import torch
from report import tell


def main():
    torch.manual_seed(0)
    x, y = torch.randn(40, 5), torch.randn(40)
    bins = embeddings.compute_bins(x, n_bins=6)
    for name, make in (("linear", lambda: embeddings.LinearReLUEmbeddings(5)), ("periodic", lambda: embeddings.PeriodicEmbeddings(5, 8, lite=False)),
                       ("pieces", lambda: embeddings.PiecewiseLinearEmbeddings(bins, 8, activation=False, version="B"))):
        torch.manual_seed(1)
        model = tabm.TabM.make(n_num_features=5, cat_cardinalities=[], d_out=1, k=4, n_blocks=2, d_block=16, num_embeddings=make())
        optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
        for _ in range(3):
            loss = (model(x).squeeze(-1) - y[:, None]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            tell(name, loss)
    tell("predicted", model.eval()(x[:2]))


main()
