"""Mistakes with values, indexing, files and data loaders. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("randint without a size", r"size", """
x = torch.randint(10)  # <-
""")

mistake("randint without a tuple", r"\(|size", """
x = torch.randint(0, 10, 3)  # <-
""")

mistake("randint downwards", r"low|less than", """
x = torch.randint(10, 5, (3,))  # <-
""")

mistake("randperm of a float", r"int", """
x = torch.randperm(10.0)  # <-
""")

mistake("normal of floats alone", r"size|randn", """
x = torch.normal(0.0, 1.0)  # <-
""")

mistake("full without a value", r"fill_value", """
x = torch.full((2, 3))  # <-
""")

mistake("cat of two arguments", r"\[a, b\]|list", """
a, b = torch.ones(2), torch.ones(2)
torch.cat(a, b)  # <-
""")

mistake("stack of a tensor and a list", r"tensor", """
torch.stack([torch.ones(2), [1.0, 2.0]])  # <-
""")

mistake("cat of numbers", r"stack|unsqueeze", """
losses = [torch.tensor(1.0), torch.tensor(2.0)]
torch.cat(losses)  # <-
""")

mistake("einsum with a letter too few", r"letter", """
torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(2, 3, 4))  # <-
""")

mistake("einsum with sizes that differ", r"letter|size", """
torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(4, 5))  # <-
""")

mistake("einsum with an operand too few", r"operand|letter", """
torch.einsum("ij,jk->ik", torch.ones(2, 3))  # <-
""")

mistake("bmm of matrices", r"@|matmul", """
torch.bmm(torch.ones(2, 3), torch.ones(3, 4))  # <-
""")

mistake("mm of a vector", r"@|matmul|mv", """
torch.mm(torch.ones(2, 3), torch.ones(3))  # <-
""")

mistake("a transpose of a vector", r"unsqueeze|-1 to 0|-1 .* 0", """
torch.ones(3).transpose(0, 1)  # <-
""")

mistake("permute with a dimension twice", r"once", """
torch.ones(2, 3, 4).permute(0, 1, 1)  # <-
""")

mistake("expand of a wrong size", r"size 1|repeat", """
torch.ones(2, 3).expand(2, 6)  # <-
""")

mistake("repeat with too few sizes", r"every dimension", """
torch.ones(2, 3).repeat(2)  # <-
""")

mistake("squeeze and then index", r"dimension", """
x = torch.ones(1, 3).squeeze()
x[0, 1]  # <-
""")

mistake("a float tensor as an index", r"long\(\)", """
x = torch.arange(5)
i = torch.tensor([0.0, 2.0])
x[i]  # <-
""")

mistake("an index that is a string", r"int|slice|dict", """
batch = torch.ones(2, 3)
batch["labels"]  # <-
""")

mistake("an index for batch and class", r"broadcast|arange", """
scores = torch.randn(4, 3)
scores[torch.arange(4), torch.tensor([0, 1])]  # <-
""")

mistake("a mask of a row for a matrix", r"shape", """
x = torch.randn(4, 3)
x[torch.tensor([True, False])]  # <-
""")

mistake("scatter of floats", r"long\(\)", """
torch.zeros(3, 5).scatter_(1, torch.tensor([[0.0], [1.0], [2.0]]), 1.0)  # <-
""")

mistake("scatter out of range", r"0 to|less than", """
torch.zeros(3, 5).scatter_(1, torch.tensor([[0], [1], [7]]), 1.0)  # <-
""")

mistake("index_select with a list", r"torch\.tensor", """
torch.ones(3, 4).index_select(0, [0, 2])  # <-
""")

mistake("topk of more than there are", r"size|less", """
torch.ones(3).topk(5)  # <-
""")

mistake("masked_fill with a tensor of values", r"where|0-dim|number|single", """
x = torch.ones(3)
x.masked_fill(x > 0, torch.zeros(3))  # <-
""")

mistake("where with a float condition", r"bool\(\)|>", """
x = torch.ones(3)
torch.where(x, x, x)  # <-
""")

mistake("a division in place of integers", r"x = x / y|float", """
x = torch.arange(3)
x /= 2  # <-
""")

mistake("adding floats to integers in place", r"dtype|float", """
counts = torch.zeros(3, dtype=torch.long)
counts += torch.rand(3)  # <-
""")

mistake("argmax of a mask", r"int\(\)|float\(\)", """
mask = torch.tensor([True, False])
mask.argmax()  # <-
""")

mistake("std of integers", r"float", """
torch.arange(5).std()  # <-
""")

mistake("exp of the wrong thing", r"torch\.tensor|exp", """
torch.exp(2)  # <-
""")

mistake("max of two arguments and a dimension", r"dim|maximum|signature|It is|it is", """
torch.max(torch.ones(3), torch.ones(3), dim=0)  # <-
""")

mistake("the maximum as a tensor", r"\.values|\[0\]|values", """
best = torch.ones(2, 3).max(dim=1)
best + torch.ones(2)  # <-
""")

mistake("matmul of numbers", r"\*|dimension", """
torch.tensor(2.0) @ torch.tensor(3.0)  # <-
""")

mistake("the inverse of a singular matrix", r"pinv|lstsq", """
torch.linalg.inv(torch.zeros(2, 2))  # <-
""")

mistake("cholesky of what is not positive", r"smallest eigenvalue of .* is -1, the largest 3: it is no covariance", """
torch.linalg.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))  # <-
""")

mistake("from_numpy of a list", r"torch\.tensor", """
torch.from_numpy([1.0, 2.0])  # <-
""")

mistake("a tensor of strings", r"indices|numbers", """
labels = ["cat", "dog"]
torch.tensor(labels)  # <-
""")

mistake("a tensor of None", r"number", """
torch.tensor([1.0, None])  # <-
""")

mistake("a tensor of a dict", r"number", """
torch.tensor({"a": 1})  # <-
""")

mistake("an array of objects", r"astype|one length", """
rows = np.array([[1, 2], [3]], dtype=object)
torch.tensor(rows)  # <-
""")

mistake("ragged rows", r"pad", """
torch.tensor([[1, 2, 3], [4, 5]])  # <-
""")

mistake("chunks of nothing", r"must be greater than 0", """
torch.ones(4).chunk(0)  # <-
""")

mistake("a split that does not add up", r"add up to 5", """
torch.ones(5).split([2, 2])  # <-
""")

mistake("unpacking a batch wrongly", r"returns|count|unpack", """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)), batch_size=2)
for x, y in loader:  # <-
    pass
""")

mistake("a dataset without getitem", r"__getitem__", """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 3
for batch in torch.utils.data.DataLoader(Rows()):  # <-
    pass
""")

mistake("samples of unequal length", r"collate_fn|pad", """
rows = [torch.ones(2), torch.ones(3)]
for batch in torch.utils.data.DataLoader(rows, batch_size=2):  # <-
    pass
""")

mistake("samples that are None", r"collate_fn|None", """
rows = [None, None]
for batch in torch.utils.data.DataLoader(rows, batch_size=2):  # <-
    pass
""")

mistake("a worker that fails", r"num_workers=0", """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return torch.ones(2, 3) @ torch.ones(2, 3)  # <-
for batch in torch.utils.data.DataLoader(Rows(), num_workers=1, multiprocessing_context="fork"):
    pass
""")

mistake("a shuffle with a sampler", r"shuffle", """
rows = [1, 2, 3]
sampler = torch.utils.data.SequentialSampler(rows)
torch.utils.data.DataLoader(rows, sampler=sampler, shuffle=True)  # <-
""")

mistake("an empty dataset shuffled", r"empty", """
torch.utils.data.DataLoader([], shuffle=True)  # <-
""")

mistake("a loader indexed", r"next\(iter|for ", """
loader = torch.utils.data.DataLoader([1, 2, 3])
loader[0]  # <-
""")

mistake("next of a loader", r"next\(iter", """
loader = torch.utils.data.DataLoader([1, 2, 3])
next(loader)  # <-
""")

mistake("random_split of a wrong sum", r"add up", """
torch.utils.data.random_split(range(10), [5, 4])  # <-
""")

mistake("a TensorDataset of other lengths", r"one length", """
torch.utils.data.TensorDataset(torch.ones(4), torch.ones(3))  # <-
""")

mistake("a file that is not there", r"there is no such file", """
state = torch.load("model_best.pt")  # <-
""")

mistake("a whole model loaded", r"state_dict|weights_only=False", """
import tempfile, os
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
path = os.path.join(tempfile.mkdtemp(), "model.pt")
import sys, types
here = sys.modules["mistake_models"] = types.ModuleType("mistake_models")
here.Net, Net.__module__, Net.__qualname__ = Net, "mistake_models", "Net"
torch.save(Net(), path)
torch.load(path)  # <-
""")

mistake("a file of something else", r"torch\.save|complete|not made", """
import tempfile, os
path = os.path.join(tempfile.mkdtemp(), "weights.pt")
open(path, "w").write("<html>404 Not Found</html>")
torch.load(path)  # <-
""")

mistake("saving into a folder that is not there", r"makedirs|folder|directory", """
torch.save({}, "/nonexistent/checkpoints/model.pt")  # <-
""")

mistake("save with swapped arguments", r"torch\.save\(obj|the object first|swap|first", """
model = nn.Linear(2, 2)
torch.save("model.pt", model.state_dict())  # <-
""")

mistake("a state loaded from the model", r"state_dict\(\)", """
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
a.load_state_dict(b)  # <-
""")

mistake("a checkpoint loaded as a state", r"checkpoint\['model_state_dict'\]|checkpoint", """
model = nn.Linear(2, 2)
checkpoint = {"epoch": 3, "model_state_dict": model.state_dict()}
model.load_state_dict(checkpoint)  # <-
""")

mistake("a state of a wider layer", r"\(2, 2\)|shape", """
a, b = nn.Linear(2, 2), nn.Linear(2, 3)
a.load_state_dict(b.state_dict())  # <-
""")

mistake("a key that is not in the state", r"fc\.weight|weight", """
state = nn.Linear(2, 2).state_dict()
state["wieght"]  # <-
""")

mistake("numpy of a tensor in a graph", r"detach\(\)", """
w = torch.ones(3, requires_grad=True)
np.asarray(w * 2)  # <-
""")

mistake("a plot of a loss", r"detach\(\)", """
loss = (torch.ones(3, requires_grad=True) * 2)
np.mean([loss.numpy()])  # <-
""")

mistake("len of a number", r"single number|unsqueeze", """
len(torch.tensor(3.0))  # <-
""")

mistake("a loop over a number", r"single number|unsqueeze", """
for x in torch.tensor(3.0):  # <-
    pass
""")

mistake("an if over a batch", r"any\(\).*all\(\)", """
pred = torch.tensor([0.2, 0.9])
if pred > 0.5:  # <-
    pass
""")

mistake("a chained comparison", r"any\(\).*all\(\)|&", """
x = torch.tensor([0.2, 0.9])
mask = 0.1 < x < 0.5  # <-
""")

mistake("range over a tensor", r"item\(\)|int|long\(\)", """
n = torch.tensor(3.0)
for i in range(n):  # <-
    pass
""")

mistake("int of many", r"item\(\)", """
int(torch.ones(3))  # <-
""")

mistake("a tensor formatted", r"item\(\)", """
print(f"loss {torch.ones(3):.4f}")  # <-
""")

mistake("a reshape with a float", r"//|int", """
x = torch.ones(4, 6)
x.reshape(4 / 2, 12)  # <-
""")

mistake("a view of a permuted tensor", r"reshape", """
x = torch.ones(2, 3, 4).permute(0, 2, 1)
x.view(2, 12)  # <-
""")

mistake("dtype as a string", r"torch\.float32", """
torch.ones(3, dtype="float32")  # <-
""")

mistake("type by a wrong name", r"float64|torch\.", """
torch.ones(3).type("double")  # <-
""")

mistake("a NumPy dtype", r"torch\.float32", """
torch.ones(3).to(np.float32)  # <-
""")

mistake("the device of a list", r"tensor|\.to", """
batch = [torch.ones(2), torch.ones(2)]
F.relu(batch)  # <-
""")

mistake("arange with a step of the wrong sign", r"step", """
torch.arange(0, 10, -1)  # <-
""")

mistake("linspace without steps", r"steps", """
torch.linspace(0, 1)  # <-
""")

mistake("bincount of floats", r"int|long\(\)", """
torch.bincount(torch.tensor([0.0, 1.0]))  # <-
""")

mistake("multinomial of scores", r"softmax|0 or more", """
torch.multinomial(torch.tensor([-1.0, 2.0]), 1)  # <-
""")

mistake("multinomial of more than there are", r"replacement=True", """
torch.multinomial(torch.ones(3), 5)  # <-
""")

mistake("two dtypes in lerp", r"dtype|\.to\(", """
torch.lerp(torch.ones(3), torch.ones(3, dtype=torch.float64), 0.5)  # <-
""")
