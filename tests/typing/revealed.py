"""What checkers say of the types of common expressions; the comment is the type."""
import claygrad as torch
from claygrad import nn
from claygrad.utils.data import DataLoader, TensorDataset

x = torch.zeros(2, 3)
model = nn.Linear(3, 2)
reveal_type(x)                                   # Tensor
reveal_type(x + 1)                               # Tensor
reveal_type(1 + x)                               # Tensor
reveal_type(2.0 / x)                             # Tensor
reveal_type(-x)                                  # Tensor
reveal_type(x @ x.t())                           # Tensor
reveal_type(x == 1)                              # Tensor
reveal_type(x > 0)                               # Tensor
reveal_type(x[0])                                # Tensor
reveal_type(x[:, 1:])                            # Tensor
reveal_type(x[x > 0])                            # Tensor
reveal_type(x.T)                                 # Tensor
reveal_type(x.shape)                             # Size
reveal_type(x.size())                            # Size
reveal_type(x.size(0))                           # int
reveal_type(x.shape[0])                          # int
reveal_type(x.dtype)                             # dtype
reveal_type(x.device)                            # device
reveal_type(x.numel())                           # int
reveal_type(x.requires_grad)                     # bool
reveal_type(x.sum())                             # Tensor
reveal_type(x.sum(dim=1, keepdim=True))          # Tensor
reveal_type(x.max())                             # Tensor
reveal_type(x.max(0).values)                     # Tensor
reveal_type(torch.max(x, 0).indices)             # Tensor
reveal_type(torch.max(x))                        # Tensor
reveal_type(x.sort().values)                     # Tensor
reveal_type(x.topk(2).indices)                   # Tensor
reveal_type(torch.linalg.svd(x).S)               # Tensor
reveal_type(x.view(3, 2))                        # Tensor
reveal_type(x.reshape(-1))                       # Tensor
reveal_type(x.permute(1, 0))                     # Tensor
reveal_type(x.to(torch.float64))                 # Tensor
reveal_type(x.add_(1))                           # Tensor
reveal_type(x.unbind(0))                         # tuple[Tensor, ...]
reveal_type(torch.cat([x, x]))                   # Tensor
reveal_type(torch.einsum("ij,kj->ik", x, x))     # Tensor
reveal_type(torch.where(x > 0, x, 0.0))          # Tensor
reveal_type(model(x))                            # Tensor
reveal_type(nn.Sequential(model)(x))             # Tensor
reveal_type(nn.functional.relu(x))               # Tensor
reveal_type(nn.functional.cross_entropy(x, x))   # Tensor
reveal_type(model.weight)                        # Parameter
reveal_type(model.weight.grad)                   # Tensor | None
reveal_type(nn.CrossEntropyLoss()(x, x))         # Tensor
reveal_type(nn.ReLU()(x))                        # Tensor
reveal_type(torch.tensor([1.0]))                 # Tensor
reveal_type(torch.randn(2, 3))                   # Tensor
reveal_type(torch.arange(3))                     # Tensor
reveal_type(torch.float32)                       # dtype
reveal_type(torch.sparse_coo_tensor([[0]], [1.0]))   # Tensor
reveal_type(torch.UntypedStorage(2))             # Storage


@torch.inference_mode()
def first(x: torch.Tensor) -> int:
    return x.size(0)


@torch.no_grad
def second(x: torch.Tensor) -> int:
    return x.size(1)


@torch.autocast("cpu")
def third(x: torch.Tensor) -> int:
    return x.size(1)


reveal_type(first(x))                            # int
reveal_type(second(x))                           # int
reveal_type(third(x))                            # int
for batch in DataLoader(TensorDataset(x, x)):
    reveal_type(batch)                           # Any
