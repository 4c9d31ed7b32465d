"""Mistakes of ordinary programs, written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("vae reparam numpy", "matrices of one shape, (3, 2): torch.exp(0.5 * lv) * torch.from_numpy(eps)", """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 4)
        self.mu = nn.Linear(4, 2); self.lv = nn.Linear(4, 2)
    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        eps = np.random.randn(*mu.shape)
        return mu + torch.exp(0.5 * lv) @ torch.from_numpy(eps)  # <-
VAE()(torch.randn(3, 8))
""")

mistake("lstm state batch", "the hidden state is (layers * directions, batch, hidden_size): make it for", """
class Lm(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16)
        self.rnn = nn.LSTM(16, 32, num_layers=2, batch_first=True)
        self.out = nn.Linear(32, 50)
    def forward(self, ids, state=None):
        y, state = self.rnn(self.emb(ids), state)  # <-
        return self.out(y), state
m = Lm()
_, st = m(torch.randint(0, 50, (8, 5)))
logits, st = m(torch.randint(0, 50, (4, 5)), st)
""")

mistake("gan detach twice", "fake, made there, is part of both graphs: pass fake.detach() to the first", """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
og = torch.optim.Adam(G.parameters()); od = torch.optim.Adam(D.parameters())
z = torch.randn(4, 2)
fake = G(z)
d_loss = D(fake).sigmoid().log().mean()
od.zero_grad(); d_loss.backward(); od.step()
g_loss = -D(fake).mean()
og.zero_grad(); g_loss.backward(); og.step()  # <-
""")

mistake("dataset getitem slice of list", "item 0 of sample 1 of the batch is (1,), and the first (2,); it is Words[1]", """
Dataset = torch.utils.data.Dataset
DataLoader = torch.utils.data.DataLoader
class Words(Dataset):
    def __init__(self): self.xs = [[1, 2], [3], [4, 5, 6]]
    def __len__(self): return len(self.xs)
    def __getitem__(self, i): return torch.tensor(self.xs[i]), i
for x, y in DataLoader(Words(), batch_size=3):  # <-
    print(x.shape)
""")

mistake("custom function saved in ctx attr", "x = ctx.saved_tensors: x, = ctx.saved_tensors takes the one out of it", """
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors
        s = torch.sigmoid(x)  # <-
        return g * (s + x * s * (1 - s))
x = torch.randn(3, requires_grad=True)
Swish.apply(x).sum().backward()
""")

mistake("scheduler onecycle too many steps", "the schedule ends after total_steps=4: call step() once for each batch, and", """
m = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, epochs=2, steps_per_epoch=2)
for epoch in range(3):
    for _ in range(2):
        opt.zero_grad(); m(torch.randn(4, 2)).sum().backward(); opt.step()
        sch.step()  # <-
""")

mistake("mha mask shape", "a mask of three dimensions is (batch * num_heads, length, source length) =", """
att = nn.MultiheadAttention(16, 4, batch_first=True)
x = torch.randn(2, 5, 16)
mask = torch.ones(2, 5, 5).bool().tril()
y, w = att(x, x, x, attn_mask=mask)  # <-
""")

mistake("transformer nhead", "nhead must divide d_model, and 8 does not divide 100: take nhead=5 or 10,", """
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=100, nhead=8), num_layers=2)  # <-
""")

mistake("one hot of float", "indices are integers: cast them with .long()", """
labels = torch.tensor([0., 2., 1.])
onehot = F.one_hot(labels, num_classes=3)  # <-
""")

mistake("scatter float index", "indices are integers: cast them with .long()", """
idx = torch.tensor([[0.], [2.]])
out = torch.zeros(2, 3).scatter_(1, idx, 1.0)  # <-
""")

mistake("state dict of dataparallel prefix", "all names start with 'module.', as a wrapped model saves them: load", """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
sd = {"module." + k: v for k, v in net.state_dict().items()}
net.load_state_dict(sd)  # <-
""")

mistake("checkpoint key missing", "did you mean 'model_state'?", """
import io
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
f = io.BytesIO()
torch.save({"model_state": net.state_dict(), "optimizer": opt.state_dict()}, f); f.seek(0)
ckpt = torch.load(f)
net.load_state_dict(ckpt["model_state_dict"])  # <-
""")

mistake("optimizer state other groups", "the saved state has 2 groups, and this optimizer 1: load it into an", """
a = nn.Linear(2, 2)
old = torch.optim.SGD([{"params": [a.weight]}, {"params": [a.bias], "lr": 1e-3}], lr=0.1)
new = torch.optim.SGD(a.parameters(), lr=0.1)
new.load_state_dict(old.state_dict())  # <-
""")

mistake("vmap data dependent", "inside vmap a tensor stands for all examples, so Python's if, while,", """
def f(x):
    if x.sum() > 0:  # <-
        return x
    return -x
torch.vmap(f)(torch.randn(4, 3))
""")

mistake("grad of vector output func", "reduce what the function returns to one number: .sum() or .mean() (vjp,", """
grad = torch.func.grad
def energy(w, x):
    return (w * x) ** 2
grad(energy)(torch.randn(3), torch.randn(3))  # <-
""")

mistake("autograd grad unused", "y: (3,) float32, which the outputs were not computed from", """
x = torch.randn(3, requires_grad=True); y = torch.randn(3, requires_grad=True)
loss = (x ** 2).sum()
gx, gy = torch.autograd.grad(loss, [x, y])  # <-
""")

mistake("gradient penalty no create_graph", "gradients have a graph of their own only on request: autograd.grad(...,", """
D = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(5, 2, requires_grad=True)
g, = torch.autograd.grad(D(x).sum(), x)
penalty = ((g.norm(dim=1) - 1) ** 2).mean()
penalty.backward()  # <-
""")

mistake("normal negative scale again", "scale must be above 0.0: make it so with torch.exp(x), as of a", """
Normal = torch.distributions.Normal
mu = torch.zeros(3); log_std = torch.tensor([-1., 0.5, 0.2])
pi = Normal(mu, log_std)  # <-
a = pi.sample()
""")

mistake("categorical probs neg", "probabilities are 0 or more and add up to 1: softmax(scores, -1), or pass", """
Categorical = torch.distributions.Categorical
logits = torch.tensor([[0.2, -0.3, 1.0]])
d = Categorical(probs=logits)  # <-
""")

mistake("distribution log_prob support", "the value must lie in the support, Interval(lower_bound=0.0,", """
Beta = torch.distributions.Beta
d = Beta(torch.tensor([2.0]), torch.tensor([3.0]))
d.log_prob(torch.tensor([1.3]))  # <-
""")

mistake("numpy on grad in plot", "call .detach().numpy(): gradients do not flow through NumPy:", """
w = torch.randn(4, requires_grad=True)
losses = []
for _ in range(2):
    loss = (w ** 2).mean(); loss.backward(); losses.append(loss)
curve = np.array([l.numpy() for l in losses])  # <-
""")

mistake("np.array of negative stride", "copy the array first: a[::-1].copy(), here img.copy(), whose strides are", """
img = np.random.rand(4, 4, 3)[:, ::-1]
t = torch.from_numpy(img).permute(2, 0, 1)  # <-
""")

mistake("uint16 object array", "the array holds objects: give it a number dtype with .astype(float), which", """
rows = np.array([[1, 2], [3]], dtype=object)
t = torch.tensor(rows)  # <-
""")

mistake("conv1d channels last", "channels come second, and here they are last: permute(0, 2, 1) the input,", """
x = torch.randn(8, 100, 3)
net = nn.Sequential(nn.Conv1d(3, 16, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
net(x)  # <-
""")

mistake("convtranspose output_size", "output_size chooses among the sizes that this input can come from, [15, 15]", """
up = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
y = up(torch.randn(1, 4, 8, 8), output_size=(20, 20))  # <-
""")

mistake("batchnorm one value train", "take a larger batch (drop_last=True in the DataLoader for a last batch of", """
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
net(torch.randn(1, 4))  # <-
""")

mistake("unet skip cat", "the sizes must be equal in all other dimensions: cut the larger, or pad the smaller with F.pad", """
class U(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.Conv2d(3, 8, 3); self.u = nn.ConvTranspose2d(8, 3, 2, 2); self.p = nn.MaxPool2d(2)
    def forward(self, x):
        a = self.d(x)
        b = self.u(self.p(a))
        return torch.cat([x, b], dim=1)  # <-
U()(torch.randn(1, 3, 32, 32))
""")

mistake("kl div names", "did you mean \"batchmean\"? reduction is \"mean\", \"sum\" or \"none\", or", """
p = F.log_softmax(torch.randn(2, 4), -1); q = F.softmax(torch.randn(2, 4), -1)
loss = F.kl_div(p, q, reduction="batch_mean")  # <-
""")

mistake("ctc lens", "log_probs is (time, batch, classes), here a batch of 2: input_lengths holds", """
logp = torch.randn(20, 2, 6).log_softmax(2)
target = torch.randint(1, 6, (2, 7))
loss = nn.CTCLoss()(logp, target, torch.tensor([20, 20, 20]), torch.tensor([7, 7]))  # <-
""")

mistake("triplet arg", "a call of TripletMarginLoss passes its arguments to forward(anchor,", """
a, p, n = (torch.randn(4, 8) for _ in range(3))
loss = nn.TripletMarginLoss(margin=0.5)(a, p)  # <-
""")

mistake("forward hook signature", "keep is called with what its kind of hook gets: a forward hook takes", """
acts = {}
def keep(module, output):
    acts["fc"] = output
net = nn.Linear(3, 2)
net.register_forward_hook(keep)
net(torch.randn(5, 3))  # <-
""")

mistake("pack padded unsorted", "pass enforce_sorted=False", """
pack_padded_sequence = torch.nn.utils.rnn.pack_padded_sequence
x = torch.randn(3, 5, 4)
packed = pack_padded_sequence(x, torch.tensor([2, 5, 3]), batch_first=True)  # <-
""")

mistake("clip grad on module", "give it net.parameters(), not the model", """
net = nn.Linear(3, 1)
net(torch.randn(2, 3)).sum().backward()
nn.utils.clip_grad_norm_(net, max_norm=1.0)  # <-
""")

mistake("random_split fractions", "the lengths must add up to len(dataset), or be fractions that add up to 1:", """
TensorDataset = torch.utils.data.TensorDataset
random_split = torch.utils.data.random_split
ds = TensorDataset(torch.randn(103, 2))
train, val = random_split(ds, [int(103 * .8), int(103 * .2)])  # <-
""")

mistake("sequential index of name", "the container has 2 modules, 0 to 1", """
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
head = net[2]  # <-
""")

mistake("amp scaler update order", "in each step: scaler.scale(loss).backward(), once unscale_(optimizer) where", """
net = nn.Linear(2, 1); opt = torch.optim.SGD(net.parameters(), lr=.1)
scaler = torch.amp.GradScaler("cpu")
loss = net(torch.randn(3, 2)).sum()
scaler.scale(loss).backward()
scaler.unscale_(opt)
nn.utils.clip_grad_norm_(net.parameters(), 1.)
scaler.unscale_(opt)  # <-
""")

mistake("einsum letters", "'k' is 6 in s and 5 in torch.randn(2, 4, 5, 8): a letter stands for one", """
q = torch.randn(2, 4, 5, 8); k = torch.randn(2, 4, 6, 8)
s = torch.einsum("bhqd,bhkd->bhqk", q, k)
o = torch.einsum("bhqk,bhkd->bhqd", s, torch.randn(2, 4, 5, 8))  # <-
""")

mistake("index boolean mask len", "a mask has the shape of the tensor, (10, 3), or of its first dimensions", """
x = torch.randn(10, 3)
y = torch.randint(0, 2, (8,))
pos = x[y == 1]  # <-
""")

mistake("lambda on key", "a matrix of 3 columns meets a vector of 4 elements: give the vector 3, or", """
score = lambda t: t.mean() + torch.zeros(2, 3).matmul(t)  # <-
items = [torch.randn(3), torch.randn(4)]
items.sort(key=lambda t: float(score(t).sum()))
""")

mistake("comprehension", "the last dimension of the input is 5, and must be in_features=4: make the", """
heads = [torch.nn.Linear(4, 2) for _ in range(3)]
xs = [torch.randn(2, 4), torch.randn(2, 4), torch.randn(2, 5)]
outs = [h(x)  # <-
        for h, x in zip(heads, xs)]
""")

mistake("dict comprehension other device dtype", "cast the input with .float()", """
batch = {"ids": torch.tensor([1, 2]), "mask": torch.tensor([True, False]), "emb": torch.randn(2, 3)}
norms = {k: v.norm() for k, v in batch.items()}  # <-
""")

mistake("multi-line keyword call", "weight has one number for every class", """
logits = torch.randn(8, 5)
labels = torch.randint(0, 5, (8,))
loss = F.cross_entropy(  # <-
    input=logits,
    target=labels,
    weight=torch.tensor([1., 2.]),
    reduction="mean",
)
""")

mistake("decorated with no_grad", "compute it outside torch.no_grad() (or inference_mode), which records", """
net = nn.Linear(3, 1)
@torch.no_grad()
def evaluate(x, y):
    pred = net(x)
    return ((pred - y) ** 2).mean()
loss = evaluate(torch.randn(4, 3), torch.randn(4, 1))
loss.backward()  # <-
""")

mistake("own decorator functools wraps", "dot takes two vectors of one length: slice or pad one of them;", """
import functools, time
def timed(f):
    @functools.wraps(f)
    def inner(*a, **k):
        t = time.time()
        r = f(*a, **k)
        return r
    return inner
@timed
def step(w, x):
    return torch.dot(w, x)  # <-
step(torch.randn(3), torch.randn(4))
""")

mistake("generator of batches", "the input has 6 elements, which 4 does not divide: correct one of the sizes", """
def batches(x, n):
    for i in range(0, len(x), n):
        yield x[i:i + n].view(-1, 4)  # <-
for b in batches(torch.randn(10, 3), 4):
    b.sum()
""")

mistake("thread pool", "the input has 10 elements and the shape 9, and no single size would mend", """
from concurrent.futures import ThreadPoolExecutor
def chunk(i):
    return torch.arange(10).reshape(3, i)  # <-
with ThreadPoolExecutor(2) as ex:
    out = list(ex.map(chunk, [3, 4]))
""")

mistake("method in sequential", "dim goes from -2 to 1 for this tensor: negative ones count from the end", """
class Squeeze(nn.Module):
    def __init__(self, dim): super().__init__(); self.dim = dim
    def forward(self, x):
        return x.squeeze(self.dim).transpose(1, 2)  # <-
net = nn.Sequential(nn.Linear(4, 4), Squeeze(1), nn.Linear(4, 2))
net(torch.randn(3, 1, 4))
""")

mistake("static method", "did you mean \"mean\"? reduction is \"mean\", \"sum\" or \"none\"", """
class Trainer:
    @staticmethod
    def loss(pred, y): return torch.nn.functional.mse_loss(pred, y.long() // 0.5, reduction="avg")  # <-
    def fit(self, x, y):
        return self.loss(x, y)
Trainer().fit(torch.randn(3), torch.randn(3))
""")

mistake("property in module", "the input has 3 elements and the shape 4, and no single size would mend it:", """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3))
    @property
    def scale(self):
        return self.w.exp().view(2, 2)  # <-
    def forward(self, x): return x * self.scale
M()(torch.randn(3))
""")

mistake("apply init", "it takes weights of two dimensions or more; for a bias use nn.init.zeros_", """
def init(m):
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(m.weight)
        nn.init.xavier_uniform_(m.bias)  # <-
nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).apply(init)
""")

mistake("collate fn", "pad them to one length (nn.utils.rnn.pad_sequence), or join them with", """
DataLoader = torch.utils.data.DataLoader
def collate(rows):
    xs, ys = zip(*rows)
    return torch.stack(xs), torch.tensor(ys)  # <-
data = [(torch.randn(n), 0) for n in (3, 3, 4)]
for xb, yb in DataLoader(data, batch_size=3, collate_fn=collate):
    pass
""")

mistake("class attribute loss in loop", "the last dimension of the input is 16, and must be in_features=8: make the", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 16), nn.Linear(8, 2)])
    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)  # <-
            x = torch.relu(x) if i < 2 else x
        return x
Net()(torch.randn(1, 4))
""")

mistake("closure LBFGS", "loss = x * x", """
x = torch.randn(2, requires_grad=True)
opt = torch.optim.LBFGS([x])
def closure():
    opt.zero_grad()
    loss = x * x
    loss.backward()  # <-
    return loss
opt.step(closure)
""")

mistake("partial", "normalized_shape is that of the last dimensions of the input: make the", """
import functools
norm = functools.partial(torch.nn.functional.layer_norm, normalized_shape=(5,))
y = norm(torch.randn(2, 4))  # <-
""")

mistake("map builtin", "it takes a matrix: unsqueeze(0) adds a dimension, squeeze(0), flatten() or", """
xs = [torch.randn(2, 3), torch.randn(3)]
ys = list(map(torch.trace, xs))  # <-
""")

mistake("reduce", "the inner sizes, 4 and 3, must be equal: look at where the two were made,", """
from functools import reduce
mats = [torch.randn(2, 3), torch.randn(3, 4), torch.randn(3, 2)]
p = reduce(torch.matmul, mats)  # <-
""")

mistake("walrus while loop", "while (loss := (x ** 2)).sum() > 1e-3 and n < 3:", """
x = torch.randn(3, requires_grad=True)
n = 0
while (loss := (x ** 2)).sum() > 1e-3 and n < 3:
    loss.backward()  # <-
    n += 1
""")

mistake("f-string", "a format is for one number: acc.mean().item(), acc[0].item(), or each of", """
acc = torch.tensor([0.5, 0.25])
print(f"accuracy {acc:.2f}")  # <-
""")

mistake("with statement", "shapes are compared from the last dimension, and each pair of sizes must be", """
lin = torch.nn.Linear(2, 2)
with torch.no_grad():
    lin.weight.copy_(torch.eye(3))  # <-
""")

mistake("async", "the inner sizes, 5 and 4, must be equal: look at where the two were made,", """
import asyncio
async def infer(x):
    await asyncio.sleep(0)
    return torch.addmm(torch.zeros(2), x, torch.randn(4, 2))  # <-
async def main():
    return await asyncio.gather(infer(torch.randn(3, 4)), infer(torch.randn(3, 5)))
asyncio.run(main())
""")

mistake("__call__ object", "shapes are compared from the last dimension, and each pair of sizes must be", """
class Normalize:
    def __init__(self, mean, std): self.mean, self.std = torch.tensor(mean), torch.tensor(std)
    def __call__(self, img): return (img - self.mean[:, None, None]) / self.std[:, None, None]  # <-
class Compose:
    def __init__(self, ts): self.ts = ts
    def __call__(self, x):
        for t in self.ts: x = t(x)
        return x
tf = Compose([Normalize([.5, .5, .5], [.2, .2, .2])])
tf(torch.rand(1, 28, 28).expand(4, 28, 28))
""")

mistake("checkpoint function", "the input has 16 elements and the shape 18: correct a size, or write -1 for", """
checkpoint = torch.utils.checkpoint.checkpoint
w = torch.randn(4, 4, requires_grad=True)
def block(x):
    h = x @ w
    return h.view(2, 9)  # <-
y = checkpoint(block, torch.randn(4, 4), use_reentrant=False)
""")

mistake("vmap inner line", "dot takes two vectors of one length: slice or pad one of them;", """
def loss(w, x):
    h = torch.tanh(w @ x)
    return h @ x  # <-
torch.vmap(loss, in_dims=(None, 0))(torch.randn(3, 4), torch.randn(5, 4))
""")

mistake("hook in other function", "shapes are compared from the last dimension, and each pair of sizes must be", """
def scale(grad):
    return grad * torch.tensor([1., 2.])  # <-
x = torch.randn(3, requires_grad=True)
y = (x * 2); y.register_hook(scale)
y.sum().backward()
""")

mistake("custom Function error inside backward", "matrices of one shape, (2, 3): g * a multiplies them element by element;", """
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b); return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g @ a  # <-
a = torch.randn(2, 3, requires_grad=True)
Mul.apply(a, a).sum().backward()
""")

mistake("dataclass method", "shapes are compared from the last dimension, and each pair of sizes must be", """
from dataclasses import dataclass
@dataclass
class Box:
    xy: torch.Tensor
    wh: torch.Tensor
    def corners(self):
        return torch.cat([self.xy - self.wh / 2,  # <-
                          self.xy + self.wh / 2], -1)
Box(torch.rand(5, 2), torch.rand(4, 2)).corners()
""")

mistake("recursion", "shapes are compared from the last dimension, and each pair of sizes must be", """
def fold(xs):
    if len(xs) == 1: return xs[0]
    return xs[0] + fold(xs[1:])  # <-
fold([torch.randn(3), torch.randn(3), torch.randn(2)])
""")

mistake("zip strict loop assignment", "shapes are compared from the last dimension, and each pair of sizes must be", """
ema = [torch.zeros(3), torch.zeros(2)]
model = [torch.randn(3, requires_grad=True), torch.randn(4, requires_grad=True)]
for e, p in zip(ema, model):
    e.mul_(0.9).add_(p.detach(), alpha=0.1)  # <-
""")

mistake("super forward", "chunk() may give more or fewer parts than 2: count the names before =, or", """
class Gated(nn.Linear):
    def forward(self, x):
        a, b = super().forward(x).chunk(3, dim=-1)  # <-
        return a * torch.sigmoid(b)
Gated(4, 6)(torch.randn(2, 4))
""")

mistake("finally and nested attr", "the input has 224 elements and the shape 210, and no single size would mend", """
from types import SimpleNamespace
cfg = SimpleNamespace(dim=16, heads=3)
q = torch.randn(2, 7, cfg.dim)
q = q.view(2, 7, cfg.heads, cfg.dim // cfg.heads).transpose(1, 2)  # <-
""")
