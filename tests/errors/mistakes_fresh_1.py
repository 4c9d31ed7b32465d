"""The first sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("train mse col float64", "float32: cast the input with .float(), or the layer with .to(x.dtype)", """
import numpy as np
data = np.random.rand(32, 4)
target = np.random.rand(32, 1)
x = torch.from_numpy(data)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for epoch in range(2):
    out = model(x)  # <-
    loss = F.mse_loss(out, torch.from_numpy(target))
""")

mistake("lstm hidden shape", "the hidden state is (layers * directions, batch, hidden_size): make it for this", """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(10, 16, num_layers=2, batch_first=True)
        self.out = nn.Linear(16, 5)
    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), 16)
        c0 = torch.zeros(1, x.size(0), 16)
        y, _ = self.lstm(x, (h0, c0))  # <-
        return self.out(y)
Tagger()(torch.randn(8, 7, 10))
""")

mistake("lstm tuple output", "net[0], LSTM, returned a tuple, (output, hidden), which nn.Sequential passes on as it is", """
net = nn.Sequential(nn.LSTM(10, 16, batch_first=True), nn.Linear(16, 2))
x = torch.randn(4, 5, 10)
logits = net(x)  # <-
""")

mistake("attn mask shape", "the attention mask says who sees whom, (length, source length) = (6, 6)", """
mha = nn.MultiheadAttention(32, 4, batch_first=True)
x = torch.randn(2, 6, 32)
mask = torch.triu(torch.ones(5, 5), diagonal=1).bool()
out, w = mha(x, x, x, attn_mask=mask)  # <-
""")

mistake("key padding mask lengths", "key_padding_mask is (batch, source length), True where a key is padding:", """
enc = nn.TransformerEncoderLayer(32, 4, batch_first=True)
src = torch.randn(2, 6, 32)
lengths = torch.tensor([6, 4])
pad = torch.arange(6)[None, :] >= lengths[:, None]
y = enc(src, src_key_padding_mask=pad.t())  # <-
""")

mistake("embed heads", "num_heads must divide embed_dim, and ", """
d_model = 100
layer = nn.MultiheadAttention(d_model, num_heads=8)  # <-
""")

mistake("ckpt map key", "a state: load checkpoint['model']", """
model = nn.Linear(3, 2)
opt = torch.optim.Adam(model.parameters())
import tempfile; path = tempfile.mkdtemp() + "/ck.pt"
torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 3}, path)
ckpt = torch.load(path)
model.load_state_dict(ckpt)  # <-
""")

mistake("ckpt wrong key", "ckpt has the keys 'model', 'epoch'", """
model = nn.Linear(3, 2)
import tempfile; path = tempfile.mkdtemp() + "/ck.pt"
torch.save({"model": model.state_dict(), "epoch": 3}, path)
ckpt = torch.load(path)
model.load_state_dict(ckpt["model_state_dict"])  # <-
""")

mistake("optimizer state mismatch", "an optimizer of the same groups and parameters as the one that was saved", """
a = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
oa = torch.optim.SGD(a.parameters(), lr=0.1, momentum=0.9)
b = nn.Linear(3, 1)
ob = torch.optim.SGD(b.parameters(), lr=0.1, momentum=0.9)
ob.load_state_dict(oa.state_dict())  # <-
""")

mistake("scheduler of scheduler", "give the scheduler the optimizer: StepLR(optimizer, ...)", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
warm = torch.optim.lr_scheduler.LinearLR(opt)
sched = torch.optim.lr_scheduler.StepLR(warm, step_size=3)  # <-
""")

mistake("plateau without metric", "give it metrics=...: it is step(metrics, epoch=None)", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
for epoch in range(2):
    opt.step()
    sched.step()  # <-
""")

mistake("onecycle too many steps", "the schedule ends after total_steps=5: call step() once for each batch, and", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=5)
for i in range(8):
    opt.step()
    sched.step()  # <-
""")

mistake("amp half on leaf", "the parameters are float16: cast the input with .half(), or the layer with", """
model = nn.Linear(4, 2).half()
x = torch.randn(3, 4)
y = model(x)  # <-
""")

mistake("scaler unscale twice", "scaler.scale(loss).backward(), once unscale_(optimizer) where gradients are", """
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
loss = model(torch.randn(2, 4)).sum()
scaler.scale(loss).backward()
scaler.unscale_(opt)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.unscale_(opt)  # <-
""")

mistake("hook on no grad", "call requires_grad_() on it first, or on what it is computed from", """
w = torch.randn(3)
w.register_hook(lambda g: g * 2)  # <-
""")

mistake("hook wrong shape", "returns None, or a gradient of shape [3]; it returned [1, 1]", """
x = torch.randn(3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g.sum().view(1, 1))
y.sum().backward()  # <-
""")

mistake("forward hook args", "hook takes (module, args, output), a forward pre-hook (module, args)", """
def show(module, inp):
    print(inp)
model = nn.Linear(2, 2)
model.register_forward_hook(show)
model(torch.zeros(1, 2))  # <-
""")

mistake("categorical neg probs", "the values are NaN, so they were spoilt before", """
policy = nn.Linear(4, 3)
state = torch.full((1, 4), float("nan"))
dist = torch.distributions.Categorical(probs=policy(state))  # <-
action = dist.sample()
""")

mistake("normal negative scale", "0.0: make it so with torch.exp(x), as of a log-variance, or F.softplus(x) + 1e-6", """
mu_logvar = torch.tensor([[0.5, -1.2], [0.1, -0.3]])
mu, std = mu_logvar.chunk(2, dim=1)
q = torch.distributions.Normal(mu, std)  # <-
""")

mistake("einsum mismatch", "k: a letter stands for one size; give different dimensions different letters,", """
q = torch.randn(2, 8, 10, 64)
k = torch.randn(2, 8, 12, 32)
scores = torch.einsum("bhqd,bhkd->bhqk", q, k)  # <-
""")

mistake("einsum operand count", "the equation has 3 operands before ->, ij, ij, ij, and 2 came: give one tensor", """
a = torch.randn(2, 3)
b = torch.randn(2, 3)
y = torch.einsum("ij,ij,ij->i", a, b)  # <-
""")

mistake("float index", "an index is an int, a slice, None, ..., a mask or a tensor of integers (.long())", """
scores = torch.rand(10)
half = len(scores) / 2
top = scores[half]  # <-
""")

mistake("float tensor index", "indices are integers: cast them with .long()", """
table = torch.randn(10, 4)
ids = torch.tensor([1., 2., 3.])
rows = table[ids]  # <-
""")

mistake("mask wrong length", "a mask has the shape of the tensor, (8, 3), or of its first dimensions", """
feats = torch.randn(8, 3)
keep = torch.tensor([True, False, True, True])
print(feats[keep])  # <-
""")

mistake("sparse numpy", "make it dense first: x.to_dense().numpy()", """
i = torch.tensor([[0, 1], [2, 0]])
adj = torch.sparse_coo_tensor(i, torch.ones(2), (3, 3))
a = adj.numpy()  # <-
""")

mistake("complex backward", "a loss is a real number: loss.abs(), loss.abs() ** 2 or loss.real of it; or", """
x = torch.randn(4, dtype=torch.complex64, requires_grad=True)
spec = torch.fft.fft(x)
spec.sum().backward()  # <-
""")

mistake("complex compare", "have no order, and it takes real ones: x.abs(), x.angle(), x.real or x.imag;", """
z = torch.fft.fft(torch.randn(8))
peak = z.max()  # <-
""")

mistake("vmap item", "inside vmap a tensor stands for all examples, so Python's if, while, float()", """
def f(x):
    if x.item() > 0:
        return x
    return -x
out = torch.func.vmap(f)(torch.randn(5))  # <-
""")

mistake("vmap in dims", "have [5, 4] elements there: in_dims=(0, None) leaves an argument whole,", """
def dot(a, b):
    return (a * b).sum()
res = torch.vmap(dot)(torch.randn(5, 3), torch.randn(4, 3))  # <-
""")

mistake("func grad nonscalar", "function returns to one number: .sum() or .mean() (vjp, jacrev and jacobian", """
def f(x):
    return x ** 2
g = torch.func.grad(f)(torch.randn(3))  # <-
""")

mistake("generator device manual seed", "give it a Python number: int(value)", """
g = torch.Generator()
g.manual_seed("abc")  # <-
""")

mistake("parametrize missing", "did you mean 'weight'?", """
P = torch.nn.utils.parametrize
class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)
layer = nn.Linear(3, 3)
P.register_parametrization(layer, "wieght", Sym())  # <-
""")

mistake("prune amount", "l1_unstructured(module, name, amount, importance_scores=None)", """
prune = torch.nn.utils.prune
layer = nn.Linear(4, 4)
prune.l1_unstructured(layer, "weight", amount=1.5)  # <-
""")

mistake("convT output padding", "output_padding=2 must be less than stride=2, or than dilation: it chooses among", """
up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=2)
y = up(torch.randn(1, 8, 16, 16))  # <-
""")

mistake("pack unsorted", "pass enforce_sorted=False", """
seqs = nn.utils.rnn.pad_sequence([torch.randn(3, 5), torch.randn(6, 5), torch.randn(2, 5)], batch_first=True)
packed = nn.utils.rnn.pack_padded_sequence(seqs, [3, 6, 2], batch_first=True)  # <-
""")

mistake("collate unequal", "batch must have one shape: pad them, or give the DataLoader a collate_fn", """
class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.arange(i + 1), i % 2
loader = torch.utils.data.DataLoader(Texts(), batch_size=4)
for ids, label in loader:  # <-
    print(ids.shape)
""")

mistake("collate none", "sample 2 of the batch is NoneType, the others are tensors: return a tensor from", """
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        img = torch.zeros(3, 2, 2) if i != 2 else None
        return img
loader = torch.utils.data.DataLoader(Images(), batch_size=4)
for img in loader:  # <-
    pass
""")

mistake("worker exception", "KeyError: 'y'", """
class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = [{"x": 1.0, "y": 0}, {"x": 2.0}]
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return self.rows[i]["x"], self.rows[i]["y"]  # <-
loader = torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=1, multiprocessing_context="fork")
for x, y in loader:
    pass
""")

mistake("dataset no len", "define def __len__(self) in Stream, the number of samples; a dataset of unknown", """
class Stream(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.randn(3)
loader = torch.utils.data.DataLoader(Stream(), batch_size=4, shuffle=True)  # <-
""")

mistake("deepcopy nonleaf", "copy it with .detach().clone(), or .clone() to keep its gradient", """
import copy
w = torch.randn(3, requires_grad=True)
h = w * 2
saved = copy.deepcopy(h)  # <-
""")

mistake("init inplace leaf", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
w = torch.randn(4, 4, requires_grad=True)
w[0] = 0  # <-
""")

mistake("manual sgd leaf", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
w = torch.randn(3, requires_grad=True)
x = torch.randn(5, 3)
for step in range(3):
    loss = (x @ w).pow(2).mean()
    loss.backward()
    w -= 0.1 * w.grad  # <-
""")

mistake("manual sgd rebind", "w.grad is None: w is no leaf since", """
w = torch.randn(3, requires_grad=True)
x = torch.randn(5, 3)
for step in range(3):
    loss = (x @ w).pow(2).mean()
    loss.backward()
    w = w - 0.1 * w.grad  # <-
""")

mistake("numpy requires grad", "give NumPy an array, pred.detach().numpy()", """
import numpy as np
model = nn.Linear(2, 1)
pred = model(torch.randn(5, 2))
print(np.mean(pred))  # <-
""")

mistake("tensor of grad list", "leaf: join tensors with torch.stack([...]), and use the tensor itself where it", """
a = torch.randn(2, requires_grad=True)
losses = [(a[0] - 1) ** 2, (a[1] + 2) ** 2]
total = torch.tensor(losses).sum()  # <-
total.backward()
""")

mistake("ce onehot long", "classes, ...) and a target of class indices (batch, ...) as int64, or of", """
logits = torch.randn(4, 3, requires_grad=True)
onehot = F.one_hot(torch.tensor([0, 2, 1, 1]), 3)
loss = nn.CrossEntropyLoss()(logits, onehot)  # <-
""")

mistake("ce float targets", "so cast the target with .long()", """
logits = torch.randn(4, 3)
y = torch.tensor([0., 2., 1., 1.])
loss = F.cross_entropy(logits, y)  # <-
""")

mistake("ce labels from one", "3 classes: labels go from 0 to 2; these start at 1, so take target - 1", """
logits = torch.randn(4, 3)
y = torch.tensor([1, 2, 3, 3])
loss = F.cross_entropy(logits, y)  # <-
""")

mistake("bce no sigmoid", "probabilities: give it torch.sigmoid(p), or use", """
p = nn.Linear(4, 1)(torch.randn(8, 4) * 10)
loss = F.binary_cross_entropy(p, torch.ones(8, 1))  # <-
""")

mistake("bce squeeze", "target must have one shape: y.unsqueeze(1), or logit.squeeze(1)", """
logit = nn.Linear(4, 1)(torch.randn(8, 4))
y = torch.randint(0, 2, (8,)).float()
loss = F.binary_cross_entropy_with_logits(logit, y)  # <-
""")

mistake("embedding float", "integers: cast them with .long()", """
class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 8)
    def forward(self, x):
        return self.emb(x).mean(1)
Bag()(torch.zeros(2, 5))  # <-
""")

mistake("cat diff channels", "the sizes must be equal in all other dimensions: cut the larger, or pad the smaller with F.pad", """
skip = torch.randn(1, 64, 57, 57)
up = torch.randn(1, 64, 56, 56)
merged = torch.cat([up, skip], dim=1)  # <-
""")

mistake("stack unequal", "pad them to one length (nn.utils.rnn.pad_sequence), or join them", """
rows = [torch.randn(3), torch.randn(4)]
batch = torch.stack(rows)  # <-
""")

mistake("bool minus", "use ~ or logical_not() for masks, ^ for differences, or .int() to count", """
pred = torch.tensor([1, 0, 1]) == 1
truth = torch.tensor([1, 1, 1]) == 1
wrong = pred - truth  # <-
""")

mistake("int mean", "integers is no integer: x.float().mean(), or mean(dtype=torch.float32)", """
labels = torch.randint(0, 10, (100,))
print(labels.mean())  # <-
""")

mistake("int requires grad", "give it a floating dtype: write 1.0 instead of 1, pass dtype=torch.float32, or", """
w = torch.tensor([1, 2, 3], requires_grad=True)  # <-
""")

mistake("no grad left on", "off in this thread: torch.set_grad_enabled(True) before the loss is computed", """
model = nn.Linear(3, 1)
torch.set_grad_enabled(False)
val = model(torch.randn(2, 3))
loss = model(torch.randn(2, 3)).mean()  # <-
loss.backward()
""")

mistake("frozen all", "from requires grad: call requires_grad_() on the parameters (or pass", """
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
for p in model.parameters():
    p.requires_grad = False
loss = model(torch.randn(2, 4)).sum()
loss.backward()  # <-
""")

mistake("bn batch1", "take a larger batch (drop_last=True in the DataLoader for a last batch of one),", """
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
y = net(torch.randn(1, 4))  # <-
""")

mistake("forward args", "a call of Net passes its arguments to forward(x, mask): give it these", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x, mask):
        return self.fc(x) * mask
net = Net()
net(torch.ones(1, 2))  # <-
""")

mistake("deep sequential", "input is 144, and must be in_features=256: make the layer with in_features=144", """
class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(c, c, 3), nn.ReLU(), nn.Flatten())
    def forward(self, x):
        return self.body(x)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Block(4)
        self.head = nn.Sequential(nn.Dropout(), nn.Linear(256, 10))
    def forward(self, x):
        return self.head(self.stem(x))  # <-
Model()(torch.randn(2, 4, 8, 8))
""")
