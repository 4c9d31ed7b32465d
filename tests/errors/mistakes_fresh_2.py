"""The second sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("train acc numpy cuda list", "losses holds tensors with their graphs: give NumPy numbers", """
losses = []
model = nn.Linear(3, 1)
for i in range(3):
    losses.append(model(torch.randn(4, 3)).mean())
print(np.mean(losses))  # <-
""")

mistake("argmax mean acc", "integers is no integer: x.float().mean(), or mean(dtype=torch.float32)", """
logits = torch.randn(8, 3); y = torch.randint(0, 3, (8,))
acc = (logits.argmax(1) == y).mean()  # <-
""")

mistake("conv no channel", "taken for one of 64 channels: unsqueeze(1) makes 64 images of 1 channel of it,", """
images = torch.rand(64, 28, 28)
conv = nn.Conv2d(1, 16, 3)
out = conv(images)  # <-
""")

mistake("flatten forgot", "layer with in_features=26, or flatten(1) the input, which gives (2, 5408)", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc = nn.Linear(8 * 26 * 26, 10)
    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.fc(x)  # <-
Net()(torch.randn(2, 1, 28, 28))
""")

mistake("channels last image", "second, and here they are last: permute(0, 3, 1, 2) the input, which gives (1,", """
img = torch.rand(224, 224, 3)
out = nn.Conv2d(3, 8, 3)(img.unsqueeze(0))  # <-
""")

mistake("uint8 image", "float32: cast the input with .float(), or the layer with .to(img.dtype)", """
img = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8)
out = nn.Conv2d(3, 8, 3)(img)  # <-
""")

mistake("no super init", "call super().__init__() first in the __init__ of your module", """
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)  # <-
net = Net()
""")

mistake("forward typo", "did you mean forward?", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def foward(self, x):
        return self.fc(x)
Net()(torch.randn(1, 2))  # <-
""")

mistake("relu module call", "data comes in a second call: nn.ReLU()(x)", """
class Net(nn.Module):
    def forward(self, x):
        return nn.ReLU(x) * 2  # <-
Net()(torch.randn(1, 2))
""")

mistake("loss class call", "settings, the data comes in a second call: nn.CrossEntropyLoss()(out, y)", """
out = torch.randn(4, 3); y = torch.tensor([0, 1, 2, 0])
loss = nn.CrossEntropyLoss(out, y)  # <-
""")

mistake("optimizer params no call", "call it: model.parameters()", """
model = nn.Linear(2, 1)
opt = torch.optim.Adam(model.parameters, lr=1e-3)  # <-
""")

mistake("optimizer list of gens", "list of all parameters: [*a.parameters(), *b.parameters()], or groups,", """
enc, dec = nn.Linear(2, 2), nn.Linear(2, 2)
opt = torch.optim.Adam([enc.parameters(), dec.parameters()], lr=1e-3)  # <-
""")

mistake("param names sorted", "not names or a state_dict; named_parameters() for names as well", """
model = nn.Linear(2, 1)
opt = torch.optim.Adam(dict(model.named_parameters()), lr=1e-3)  # <-
""")

mistake("rnn batch shape linear", "the last dimension of the input is 64, and must be in_features=32: make the", """
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 32, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(32, 4)
    def forward(self, x):
        out, h = self.rnn(x)
        return self.fc(out[:, -1])  # <-
Clf()(torch.randn(2, 5, 8))
""")

mistake("ce seq shape", "the second, not the last: transpose(1, 2) makes the scores (2, 100, 7)", """
logits = torch.randn(2, 7, 100); tgt = torch.randint(0, 100, (2, 7))
loss = F.cross_entropy(logits, tgt)  # <-
""")

mistake("nll no logsoftmax dim", "dim goes from -2 to 1 for this tensor: negative ones count from the end", """
x = torch.randn(4, 3)
p = F.log_softmax(x, dim=2)  # <-
""")

mistake("softmax 1d", "dim goes from -1 to 0 for this tensor: negative ones count from the end", """
scores = torch.randn(5)
p = torch.softmax(scores, dim=1)  # <-
""")

mistake("gather dims", "give the index as many dimensions as the input: actions.unsqueeze(1), and", """
q = torch.randn(32, 4); actions = torch.randint(0, 4, (32,))
q_a = q.gather(1, actions)  # <-
""")

mistake("scatter dtype", "integers: cast them with .long()", """
out = torch.zeros(3, 5)
out.scatter_(1, torch.tensor([[0.], [1.], [2.]]), 1.0)  # <-
""")

mistake("one hot float", "integers: cast them with .long()", """
y = torch.tensor([0., 1., 2.])
oh = F.one_hot(y, 3)  # <-
""")

mistake("one hot negative", "classes go from 0 to num_classes - 1: give a larger num_classes, or mend the", """
y = torch.tensor([0, -1, 2])
oh = F.one_hot(y, 3)  # <-
""")

mistake("view after transpose", "call .reshape(...) instead, which copies where it must, or .contiguous() first:", """
x = torch.randn(2, 3, 4)
y = x.transpose(1, 2).view(2, -1)  # <-
""")

mistake("view wrong total", "correct a size, or write -1 for the one that is to be computed", """
x = torch.randn(32, 64, 7, 7)
y = x.view(32, 64 * 8 * 8)  # <-
""")

mistake("repeat vs expand", "only dimensions of size 1 expand: unsqueeze() where the new one belongs, or", """
x = torch.randn(3)
y = x.expand(3, 4)  # <-
""")

mistake("broadcast add bias", "shapes are compared from the last dimension, and each pair of sizes must be", """
x = torch.randn(8, 16, 10, 10)
bias = torch.randn(16)
y = x + bias  # <-
""")

mistake("matmul order", "sizes 128 and 64 differ: x @ W.T multiplies (32, 128) by (128, 64)", """
W = torch.randn(64, 128); x = torch.randn(32, 128)
y = x @ W  # <-
""")

mistake("bmm 2d", "mm takes matrices, mv a matrix and a vector, bmm batches of matrices; @", """
a = torch.randn(3, 4); b = torch.randn(4, 5)
c = torch.bmm(a, b)  # <-
""")

mistake("mm batch", "bmm batches of matrices; @ (matmul) takes all of them", """
a = torch.randn(2, 3, 4); b = torch.randn(2, 4, 5)
c = torch.mm(a, b)  # <-
""")

mistake("dot 2d", "takes two vectors: use @ (matmul) for matrices", """
a = torch.randn(3, 4)
d = torch.dot(a, a)  # <-
""")

mistake("cat tuple missing", "give it a list of tensors: torch.cat([a, b])", """
a = torch.randn(2, 3); b = torch.randn(2, 3)
c = torch.cat(a, b)  # <-
""")

mistake("cat dtype none", "element 1 is NoneType: make a tensor of it, or leave it out", """
feats = [torch.randn(2, 3), None]
x = torch.cat(feats, 1)  # <-
""")

mistake("stack empty", "the list is empty: nothing was put into it before", """
batch = []
x = torch.stack(batch)  # <-
""")

mistake("tensor ragged", "rows must have one length: pad them, or keep a list of tensors", """
x = torch.tensor([[1, 2, 3], [4, 5]])  # <-
""")

mistake("tensor strings", "strings are no numbers: map them to indices first", """
y = torch.tensor(["cat", "dog"])  # <-
""")

mistake("from numpy list", "from_numpy takes NumPy arrays: use torch.tensor(...) for lists and numbers", """
x = torch.from_numpy([1, 2, 3])  # <-
""")

mistake("from numpy object", "the array holds objects: give it a number dtype with .astype(float), which", """
arr = np.array([[1, 2], [3]], dtype=object)
x = torch.from_numpy(arr)  # <-
""")

mistake("numpy uint16", "cast the array first: .astype(np.float32) or .astype(np.int64)", """
df = np.array(["1", "2"])
x = torch.tensor(df)  # <-
""")

mistake("numpy grad call", "call .detach().numpy(): gradients do not flow through NumPy", """
w = nn.Parameter(torch.ones(2))
w.numpy()  # <-
""")

mistake("item on batch", "take one element, x[i].item(), or reduce it first: x.sum().item(),", """
loss = F.mse_loss(torch.randn(4), torch.randn(4), reduction="none")
print(loss.item())  # <-
""")

mistake("if tensor", "say which is meant: (x > 0).any() or (x > 0).all(); & and | instead of `and`", """
x = torch.randn(3)
if x > 0:  # <-
    print("positive")
""")

mistake("and masks", "0).any() or (x > 0).all(); & and | instead of `and` and `or`, torch.where", """
x = torch.randn(5)
m = (x > 0) and (x < 1)  # <-
""")

mistake("backward vector", "shape [4, 2]; reduce it (sum(), mean()) or pass gradient=", """
model = nn.Linear(3, 2)
out = model(torch.randn(4, 3))
out.backward()  # <-
""")

mistake("backward twice loop", "graph: cut it with h = h.detach() between steps, or pass retain_graph=True to", """
h = torch.zeros(1, 4)
cell = nn.RNNCell(3, 4)
for t in range(3):
    h = cell(torch.randn(1, 3), h)
    loss = h.sum()
    loss.backward()  # <-
""")

mistake("detach in loss", "compute it without detach() there", """
x = torch.randn(3, requires_grad=True)
pred = (x * 2).detach()  # <-
loss = (pred - 1).pow(2).mean()
loss.backward()
""")

mistake("item in loss", "total is a number, without a graph, since", """
w = torch.randn(3, requires_grad=True)
total = 0
for i in range(3):
    total += (w[i] ** 2).item()  # <-
total.backward()
""")

mistake("argmax loss", "argmax, argmin and argsort have no gradient: use the values (max, softmax,", """
logits = torch.randn(4, 3, requires_grad=True)
pred = logits.argmax(dim=1).float()  # <-
loss = F.mse_loss(pred, torch.zeros(4))
loss.backward()
""")

mistake("round to int loss", "integers have no gradient: stay with floating numbers for the loss", """
x = torch.randn(4, requires_grad=True)
loss = x.long().sum()  # <-
loss.backward()
""")

mistake("grad unused", "out of the inputs, or pass allow_unused=True to get None for it", """
a = torch.randn(2, requires_grad=True); b = torch.randn(2, requires_grad=True)
g = torch.autograd.grad((a * 2).sum(), [a, b])  # <-
""")

mistake("function returns wrong count", "in backward: return g * ctx.s", """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return x * s
    @staticmethod
    def backward(ctx, g):
        return g * ctx.s  # <-
Scale.apply(torch.randn(3, requires_grad=True), 2.0).sum().backward()
""")

mistake("function wrong shape", "in backward: return g.expand(4)", """
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()
    @staticmethod
    def backward(ctx, g):
        return g.expand(4)
x = torch.randn(3, requires_grad=True)
Sum.apply(x).backward()  # <-
""")

mistake("save for backward outside", "what is no tensor on ctx, ctx.k = k, and read ctx.k in backward", """
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)  # <-
        return x * k
    @staticmethod
    def backward(ctx, g):
        x, k = ctx.saved_tensors
        return g * k, None
Mul.apply(torch.randn(3, requires_grad=True), 3)
""")

mistake("state dict module prefix", "all names start with 'module.', as a wrapped model saves them: load", """
model = nn.Linear(2, 2)
sd = {"module." + k: v for k, v in model.state_dict().items()}
model.load_state_dict(sd)  # <-
""")

mistake("state dict shape", "make the model with the shapes of the state (out_features, num_embeddings ...),", """
old = nn.Linear(4, 10); new = nn.Linear(4, 5)
new.load_state_dict(old.state_dict())  # <-
""")

mistake("load missing file", "correct the path, or change the working directory", """
ck = torch.load("chekpoint_last.pth")  # <-
""")

mistake("loader index error", "indices of dimension 0 go from -10 to 9, that is 0 to 9 from the front; 10 came", """
class D(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.randn(10, 2)
    def __len__(self):
        return 11
    def __getitem__(self, i):
        return self.x[i]  # <-
for b in torch.utils.data.DataLoader(D(), batch_size=4):
    pass
""")

mistake("loader str batch size", "batch_size is an int of 1 or more: int(n), or // instead of /, makes one; None", """
ds = torch.utils.data.TensorDataset(torch.randn(4, 2))
dl = torch.utils.data.DataLoader(ds, batch_size="2")  # <-
""")

mistake("tensordataset mismatch", "a TensorDataset have one length", """
ds = torch.utils.data.TensorDataset(torch.randn(10, 2), torch.randn(9))  # <-
""")

mistake("subset len split", "the lengths must add up to len(dataset), or be fractions that add up to 1", """
ds = torch.utils.data.TensorDataset(torch.randn(10, 2))
a, b = torch.utils.data.random_split(ds, [7, 2])  # <-
""")
