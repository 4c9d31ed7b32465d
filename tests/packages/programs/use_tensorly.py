"""Tensor decompositions of tensorly on torch's tensors, and matrices kept orthogonal by geotorch."""
import geotorch
import tensorly as tl
import torch
from report import tell
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker


def main():
    tl.set_backend("pytorch")
    torch.manual_seed(0)
    x = torch.rand(4, 5, 6, dtype=torch.float64)
    weights, factors = parafac(x, 3, init="svd", n_iter_max=10)
    tell("parafac", tl.cp_to_tensor((weights, factors)))
    tell("tucker", tl.tucker_to_tensor(tucker(x, [2, 2, 2], n_iter_max=5)))
    tell("train", tl.tt_to_tensor(tensor_train(x, [1, 2, 2, 1])))
    tell("positive", tl.cp_to_tensor(non_negative_parafac(x, 2, init="svd", n_iter_max=5)))
    parts = [torch.rand(n, 2, dtype=torch.float64, requires_grad=True) for n in (4, 5, 6)]
    loss = tl.norm(tl.cp_to_tensor((torch.ones(2, dtype=torch.float64), parts)) - x) ** 2
    loss.backward()
    tell("gradient", parts[0].grad)
    for name in ("orthogonal", "skew", "positive_definite", "low_rank", "sphere", "symmetric"):
        torch.manual_seed(1)
        layer = torch.nn.Linear(4, 4)
        getattr(geotorch, name)(layer, "weight", **({"rank": 2} if name == "low_rank" else {}))
        optimizer = torch.optim.SGD(layer.parameters(), 0.05)
        for _ in range(2):
            loss = layer(torch.ones(3, 4)).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tell(name, loss)
        tell("product", (layer.weight @ layer.weight.T).diagonal().sum())


main()
