"""The seventh sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("cnn fc after pool", "input is 1176, and must be in_features=150: make the layer with in_features=1176", """
class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 5); self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(6 * 5 * 5, 10)
    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        return self.fc(torch.flatten(x, 1))  # <-
CNN()(torch.randn(4, 3, 32, 32))
""")

mistake("train loop unpack", "TensorDataset, which holds 1 tensor: count the names before `in` (for (x,) in", """
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6, 2)), batch_size=3)
for x, y in dl:  # <-
    pass
""")

mistake("bce logits class mismatch", "and target must have one shape: here (3, 2) and (3,)", """
m = nn.Linear(4, 2)
loss = nn.BCEWithLogitsLoss()(m(torch.randn(3, 4)), torch.ones(3))  # <-
""")

mistake("criterion forgot target", "MSELoss passes its arguments to forward(input, target): give it these", """
crit = nn.MSELoss()
loss = crit(torch.randn(3))  # <-
""")

mistake("optimizer zero grad paren", "did you mean zero_grad?", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
opt.zerograd()  # <-
""")

mistake("lr tensor str", "a number came as a string: float(value), or int(value)", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr="0.01")  # <-
""")

mistake("accumulate loss list mean", "list of 3 tensors: torch.stack(losses).mean, or torch.cat(losses).mean along a", """
m = nn.Linear(2, 1)
losses = [m(torch.ones(1, 2)).sum() for _ in range(3)]
losses.mean().backward()  # <-
""")

mistake("freeze then backward", "from requires grad: call requires_grad_() on the parameters (or pass", """
m = nn.Linear(2, 1).requires_grad_(False)
m(torch.ones(1, 2)).sum().backward()  # <-
""")

mistake("grad of int input", "give it a floating dtype: write 1.0 instead of 1, pass dtype=torch.float32, or", """
x = torch.arange(3, requires_grad=True)  # <-
""")

mistake("leaf index assign", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
e = nn.Embedding(5, 3)
e.weight[0] = torch.zeros(3)  # <-
""")

mistake("view of expanded", "call .reshape(...) instead, which copies where it must, or .contiguous() first:", """
x = torch.randn(1, 4).expand(3, 4)
y = x.view(12)  # <-
""")

mistake("tensor bool list", "say which is meant: (x > 0).any() or (x > 0).all(); & and | instead of `and`", """
xs = [torch.randn(2), torch.randn(2)]
if torch.randn(2) in xs:  # <-
    pass
""")

mistake("max two args", "say which is meant: (x > 0).any() or (x > 0).all(); & and | instead of `and`", """
x = torch.randn(3, 4)
v = max(x)  # <-
""")

mistake("sort key tensor", "sorted() compares the tensors in xs with each other", """
xs = [torch.randn(2), torch.randn(2)]
s = sorted(xs)  # <-
""")

mistake("worker lambda", "indices of dimension 0 go from -4 to 3, that is 0 to 3 from the front; 4 came", """
class D(torch.utils.data.Dataset):
    def __init__(self): self.x = torch.arange(4)
    def __len__(self): return 6
    def __getitem__(self, i): return self.x[i]  # <-
list(torch.utils.data.DataLoader(D(), num_workers=1, multiprocessing_context="fork"))
""")

mistake("iterable shuffle", "leave shuffle= out: an IterableDataset gives its samples in its own order;", """
class S(torch.utils.data.IterableDataset):
    def __iter__(self): return iter(range(3))
dl = torch.utils.data.DataLoader(S(), shuffle=True)  # <-
""")

mistake("dataset empty", "len(dataset), so there the dataset is empty: look at its __len__ and its files", """
dl = torch.utils.data.DataLoader([], shuffle=True)  # <-
""")

mistake("collate str object", "return tensors, numbers or arrays from the dataset, or give the DataLoader a", """
class O: pass
next(iter(torch.utils.data.DataLoader([O(), O()])))  # <-
""")

mistake("concat ds empty", "look at how it came to be empty, or leave it out before", """
d = torch.utils.data.ConcatDataset([])  # <-
""")

mistake("weighted random neg", "weights are 0 or more: clamp(min=0), or softmax the scores first", """
s = torch.utils.data.WeightedRandomSampler([0.1, -0.5], 2)
list(s)  # <-
""")

mistake("normalize zero dim", "dim goes from -1 to 0 for this tensor: negative ones count from the end", """
x = F.normalize(torch.randn(3), dim=1)  # <-
""")

mistake("cosine sim shape", "dimension, and each pair of sizes must be equal or 1: where they go together,", """
s = F.cosine_similarity(torch.randn(4, 8), torch.randn(5, 8))  # <-
""")

mistake("cdist dim", "X1 and X2 must have the same number of columns: reshape, slice or pad one of", """
d = torch.cdist(torch.randn(3, 2), torch.randn(4, 3))  # <-
""")

mistake("einsum bad output", "stands behind -> but in no operand: the result has letters of the operands only", """
y = torch.einsum("ij,jk->il", torch.randn(2, 3), torch.randn(3, 4))  # <-
""")

mistake("tensordot dims", "the first, 3, must have the size of dimension 0 of the second, 4: name the", """
y = torch.tensordot(torch.randn(2, 3), torch.randn(4, 2), dims=1)  # <-
""")

mistake("outer 2d", "it takes 1-D: unsqueeze(0) adds a dimension, squeeze(0), flatten() or an index", """
y = torch.outer(torch.randn(2, 2), torch.randn(3))  # <-
""")

mistake("diag 3d", "it takes 1D or 2D: unsqueeze(0) adds a dimension, squeeze(0), flatten() or an", """
y = torch.diag(torch.randn(2, 2, 2))  # <-
""")

mistake("trace vec", "it takes a matrix: unsqueeze(0) adds a dimension, squeeze(0), flatten() or an", """
y = torch.trace(torch.randn(3))  # <-
""")

mistake("det nonsquare", "give it (..., n, n)", """
y = torch.det(torch.randn(2, 3))  # <-
""")

mistake("lstsq shape", "input.size(-2) must match other.size(-2): reshape, slice or pad one of them", """
y = torch.linalg.lstsq(torch.randn(4, 2), torch.randn(3, 1))  # <-
""")

mistake("histc int", "it takes floating numbers: call .float() first", """
y = torch.histc(torch.tensor([1, 2, 3]), bins=3)  # <-
""")

mistake("bincount float", "it counts or indexes, with integers: cast the input with .long()", """
y = torch.bincount(torch.tensor([0., 1.]))  # <-
""")

mistake("bincount neg", ".flatten(), of integers, .long(), none below 0, x[x >= 0]", """
y = torch.bincount(torch.tensor([-1, 1]))  # <-
""")

mistake("searchsorted shape", "make the sizes equal: reshape, slice or pad one of them (here torch.randn(3, 4)", """
y = torch.searchsorted(torch.randn(3, 4), torch.randn(2, 5))  # <-
""")

mistake("roll dims", "(2, 3)); it is roll(input, shifts, dims=())", """
y = torch.roll(torch.randn(2, 3), (1, 2), 0)  # <-
""")

mistake("flip dup", "name each dim once", """
y = torch.flip(torch.randn(2, 3), (0, 0))  # <-
""")

mistake("repeat few", "give a number for every dimension of the tensor, and more in front for new", """
y = torch.randn(2, 3).repeat(2)  # <-
""")

mistake("tile neg", "sizes are 0 or more", """
y = torch.randn(2).repeat(-1)  # <-
""")

mistake("narrow len", "that fits: here start=3, length=4; it is narrow(input, dim, start, length)", """
y = torch.randn(5).narrow(0, 3, 4)  # <-
""")

mistake("unfold size", "windows of 5 do not fit: take a size of 3 at most, or pad it first", """
y = torch.randn(3).unfold(0, 5, 1)  # <-
""")

mistake("masked select shape", "shapes are compared from the last dimension, and each pair of sizes must be", """
y = torch.randn(3).masked_select(torch.tensor([True, False]))  # <-
""")

mistake("index select 2d", "it takes a vector: unsqueeze(0) adds a dimension, squeeze(0), flatten() or an", """
y = torch.randn(3, 4).index_select(0, torch.tensor([[0, 1]]))  # <-
""")

mistake("take along", "give both as many dimensions: unsqueeze() adds one to the smaller (here", """
y = torch.take_along_dim(torch.randn(3, 4), torch.tensor([0, 1]), dim=1)  # <-
""")

mistake("put value", "the value must have the shape (3), or one that broadcasts to it", """
x = torch.zeros(4); x[torch.tensor([0, 1, 2])] = torch.ones(2)  # <-
""")

mistake("complex loss", "a loss is a real number: loss.abs(), loss.abs() ** 2 or loss.real of it; or", """
x = torch.randn(3, dtype=torch.cfloat, requires_grad=True)
(x ** 2).mean().backward()  # <-
""")

mistake("polar types", "both must have one dtype: the second is Double, so cast it to Float,", """
z = torch.polar(torch.ones(2), torch.ones(2, dtype=torch.float64))  # <-
""")

mistake("view as complex shape", "a last dimension of size 2; it is view_as_complex(input)", """
z = torch.view_as_complex(torch.randn(3, 3))  # <-
""")

mistake("stft window", "torch.hann_window(64), or n_fft=32", """
s = torch.stft(torch.randn(100), 64, window=torch.hann_window(32), return_complex=True)  # <-
""")

mistake("istft missing", "what torch.stft(..., return_complex=True) returns; torch.view_as_complex(x)", """
s = torch.istft(torch.randn(33, 5), 64)  # <-
""")

mistake("sparse mm shape", "make the sizes equal: reshape, slice or pad one of them (here a (3, 3),", """
a = torch.eye(3).to_sparse()
y = torch.sparse.mm(a, torch.randn(4, 2))  # <-
""")

mistake("vmap out scalar", "vmap, grad or jvp returns tensors, or tuples and dicts of them:", """
y = torch.vmap(lambda x: 3)(torch.randn(2))  # <-
""")

mistake("jvp tuple", "put each argument into a tuple: jvp(f, (x,), (tangent,))", """
o = torch.func.jvp(lambda x: x * 2, torch.ones(2), torch.ones(2))  # <-
""")

mistake("hessian vec", "function returns to one number: .sum() or .mean() (vjp, jacrev and jacobian", """
h = torch.autograd.functional.hessian(lambda x: x ** 2, torch.ones(3))  # <-
""")

mistake("weight norm name", "parameters: choose a layer with a weight", """
m = nn.utils.parametrizations.weight_norm(nn.ReLU())  # <-
""")

mistake("spectral norm bias", "a bias has one dimension, a weight two or more: name the weight, name='weight'", """
m = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), "bias")  # <-
""")

mistake("remove param", "weight was never parametrized, or no longer is:", """
m = nn.Linear(2, 2)
torch.nn.utils.parametrize.remove_parametrizations(m, "weight")  # <-
""")

mistake("layers in a list of a model without a name", "layers in a plain list or dict are not seen, keep them in nn.ModuleList", """
class N(nn.Module):
    def __init__(self):
        super().__init__(); self.layers = [nn.Linear(2, 2)]
opt = torch.optim.SGD(N().parameters(), lr=0.1)  # <-
""")

mistake("class indices of int32", "class indices came as int32, so cast the target with .long()", """
F.cross_entropy(torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1], dtype=torch.int32))  # <-
""")
