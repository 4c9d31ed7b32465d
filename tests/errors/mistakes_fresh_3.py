"""The third sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("json metrics", "has numbers and lists: loss.item() for one, x.tolist() for many; tensors", """
import json
metrics = {"loss": torch.tensor(0.5), "epoch": 3}
s = json.dumps(metrics)  # <-
""")

mistake("empty loader mean", "loader gives no batch: its dataset has 10 samples, and drop_last=True leaves", """
ds = torch.utils.data.TensorDataset(torch.randn(10, 2))
loader = torch.utils.data.DataLoader(ds, batch_size=32, drop_last=True)
total = 0.0
for (x,) in loader:
    total += x.mean().item()
print(total / len(loader))  # <-
""")

mistake("unbound loss", "loss gets its value in the loop at", """
def train(loader):
    for (x,) in loader:
        loss = x.sum()
    return loss.item()  # <-
train(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(3, 2)), batch_size=8, drop_last=True))
""")

mistake("own class args", "it is MLP(n_in, hidden, n_out): give it these", """
class MLP(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.Linear(hidden, n_out))
model = MLP(10, 2)  # <-
""")

mistake("own class kw", "did you mean hidden? It is MLP(n_in, hidden=32)", """
class MLP(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.net = nn.Linear(n_in, hidden)
model = MLP(10, hiden=64)  # <-
""")

mistake("next exhausted", "batches: start again with it = iter(loader), or give next(it, None) a value for", """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4.)), batch_size=4)
it = iter(loader)
a = next(it)
b = next(it)  # <-
""")

mistake("conv pool too small", "take a smaller kernel_size, give it padding=, or a larger input: earlier layers", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(*[m for _ in range(4) for m in (nn.Conv2d(1, 1, 3), nn.MaxPool2d(2))])
    def forward(self, x):
        return self.features(x)  # <-
Net()(torch.randn(1, 1, 28, 28))
""")

mistake("unet add skip", "of them, or take the same part of both", """
down = torch.randn(1, 8, 15, 15)
up = F.interpolate(torch.randn(1, 8, 7, 7), scale_factor=2)
y = down + up  # <-
""")

mistake("interpolate mode", "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1,", """
img = torch.randn(3, 64, 64)
big = F.interpolate(img, size=(128, 128), mode="bilinear")  # <-
""")

mistake("grid sample batch", "and input must have same batch size: reshape, slice or pad one of them (here", """
img = torch.randn(4, 3, 8, 8)
grid = torch.rand(1, 8, 8, 2)
out = F.grid_sample(img, grid)  # <-
""")

mistake("kl div target shape", "shapes are compared from the last dimension, and each pair of sizes must be", """
p = F.log_softmax(torch.randn(4, 5), 1); q = F.softmax(torch.randn(4, 6), 1)
loss = F.kl_div(p, q, reduction="batchmean")  # <-
""")

mistake("reduction typo", "reduction is \"mean\", \"sum\" or \"none\"", """
loss = F.mse_loss(torch.randn(3), torch.randn(3), reduction="avg")  # <-
""")

mistake("cosine embed target", "the target has one number for each row, (batch,), and (4, 1) came:", """
a, b = torch.randn(4, 8), torch.randn(4, 8)
loss = F.cosine_embedding_loss(a, b, torch.ones(4, 1))  # <-
""")

mistake("triplet shapes", "shapes are compared from the last dimension, and each pair of sizes must be", """
loss = nn.TripletMarginLoss()(torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 9))  # <-
""")

mistake("ce weight len", "weight has one number for every class", """
w = torch.tensor([1., 2.])
loss = nn.CrossEntropyLoss(weight=w)(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))  # <-
""")

mistake("bce int target", "torch.tensor([0, 1, 1, 0]).float()", """
loss = F.binary_cross_entropy_with_logits(torch.randn(4), torch.tensor([0, 1, 1, 0]))  # <-
""")

mistake("ctc lengths", "batch, classes), and an input length of 60 came: lengths are counted in those", """
lp = torch.randn(50, 2, 20).log_softmax(2)
loss = F.ctc_loss(lp, torch.randint(1, 20, (2, 30)), torch.tensor([50, 60]), torch.tensor([30, 25]))  # <-
""")

mistake("multi label margin dtype", "cast the indices: .long()", """
loss = nn.MultiLabelMarginLoss()(torch.randn(2, 4), torch.tensor([[3., 0., -1., 1.], [0., 1., 2., 3.]]))  # <-
""")

mistake("gaussian nll neg var", "values must be 0 or more: var.clamp(min=0), var.exp() or F.softplus(var) makes", """
loss = F.gaussian_nll_loss(torch.randn(4), torch.randn(4), torch.tensor([1., -1., 1., 1.]))  # <-
""")

mistake("embedding oob module", "indices go from 0 to 99, since num_embeddings is 100: 100 came; make the table", """
class LM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.head = nn.Linear(16, vocab)
    def forward(self, ids):
        return self.head(self.emb(ids))  # <-
LM(100)(torch.tensor([[5, 100, 3]]))
""")

mistake("pos embedding len", "indices go from 0 to 511, since num_embeddings is 512: 512 came; make the table", """
pos = nn.Embedding(512, 64)
x = torch.randn(1, 600, 64)
x = x + pos(torch.arange(x.size(1)))  # <-
""")

mistake("transformer d model", "the last dimension must be embed_dim, 512: make the layer with embed_dim=256,", """
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=512, nhead=8, batch_first=True), num_layers=1)
out = enc(torch.randn(2, 10, 256))  # <-
""")

mistake("transformer tgt mask", "the attention mask says who sees whom, (length, source length) = (9, 9)", """
dec = nn.TransformerDecoderLayer(32, 4, batch_first=True)
mask = nn.Transformer.generate_square_subsequent_mask(10)
out = dec(torch.randn(2, 9, 32), torch.randn(2, 12, 32), tgt_mask=mask)  # <-
""")

mistake("sdpa mask", "shapes are compared from the last dimension, and each pair of sizes must be", """
q = torch.randn(2, 4, 10, 16)
m = torch.ones(2, 10, 10, dtype=torch.bool)
o = F.scaled_dot_product_attention(q, q, q, attn_mask=m)  # <-
""")

mistake("masked fill mask float", "give it a mask: mask.bool(), or a comparison such as x > 0", """
scores = torch.randn(2, 4, 4)
mask = torch.tril(torch.ones(4, 4))
scores = scores.masked_fill(mask, float("-inf"))  # <-
""")

mistake("masked fill shape", "shapes are compared from the last dimension, and each pair of sizes must be", """
scores = torch.randn(2, 8, 5, 5)
mask = torch.ones(2, 5, dtype=torch.bool)
scores = scores.masked_fill(mask, -1e9)  # <-
""")

mistake("heads view", "the shape 1920, and no single size would mend it: look which sizes of the input", """
x = torch.randn(2, 10, 100)
h = x.view(2, 10, 8, 100 // 8)  # <-
""")

mistake("permute missing", "name every dimension of the tensor once; to exchange two, use transpose(a, b)", """
x = torch.randn(2, 3, 4, 5)
y = x.permute(0, 2, 1)  # <-
""")

mistake("transpose 1d", "dim goes from -1 to 0 for this tensor: negative ones count from the end", """
x = torch.randn(5)
y = x.transpose(0, 1)  # <-
""")

mistake("squeeze then index", "the tensor has 1 dimension: take as many indices at most", """
x = torch.randn(1, 5).squeeze()
y = x[:, 0]  # <-
""")

mistake("chunk zero", "chunks must be greater than 0, and 0 came: take a number that fits; it is", """
parts = torch.randn(6).chunk(0)  # <-
""")

mistake("split sum", "the sizes must add up to 10", """
a, b = torch.randn(10, 4).split([6, 5])  # <-
""")

mistake("unpack split", "split(n) makes parts of n elements, as many as there are, and", """
a, b = torch.randn(10, 4).split(4)  # <-
""")

mistake("topk k", "dimension 1 has 3 elements, and k is 5: take k=3 at most, min(k, x.size(1))", """
v, i = torch.randn(4, 3).topk(5, dim=1)  # <-
""")

mistake("sort tuple arith", "dimension returns two tensors, values and indices: take x.max(dim=1).values, or", """
x = torch.randn(4, 3)
best = x.max(dim=1) + 1  # <-
""")

mistake("arange float index", "indices are integers: cast them with .long()", """
x = torch.randn(10)
idx = torch.linspace(0, 9, 4)
y = x[idx]  # <-
""")

mistake("index add shape", "(3) must be equal to source.size(dim): (2): reshape, slice or pad one of them", """
x = torch.zeros(5, 3)
x.index_add_(0, torch.tensor([0, 4, 2]), torch.ones(2, 3))  # <-
""")

mistake("scatter index oob", "go from -5 to 4, that is 0 to 4 from the front; 5 came", """
y = torch.tensor([[0], [3], [5]])
oh = torch.zeros(3, 5).scatter_(1, y, 1.)  # <-
""")

mistake("where shapes", "shapes are compared from the last dimension, and each pair of sizes must be", """
x = torch.randn(4, 3)
y = torch.where(x > 0, x, torch.zeros(4))  # <-
""")

mistake("clamp none", "pass min=, max= or both: x.clamp(min=0)", """
x = torch.randn(3)
y = x.clamp()  # <-
""")

mistake("inverse nonsquare", "give it (..., n, n)", """
a = torch.randn(3, 4)
b = torch.linalg.inv(a)  # <-
""")

mistake("solve singular", "a small multiple of torch.eye(n), or use torch.linalg.lstsq or pinv", """
a = torch.ones(3, 3)
x = torch.linalg.solve(a, torch.ones(3))  # <-
""")

mistake("cholesky not pd", "the smallest eigenvalue of a is -1, the largest 3: it is no covariance", """
a = torch.tensor([[1., 2.], [2., 1.]])
L = torch.linalg.cholesky(a)  # <-
""")

mistake("fft bad dim", "dim goes from -1 to 0 for this tensor: negative ones count from the end", """
x = torch.randn(8)
y = torch.fft.fft2(x)  # <-
""")

mistake("zeros float size", "sizes are int: int(n), or // instead of /, makes one", """
n = 10 / 2
x = torch.zeros(n, 3)  # <-
""")

mistake("randint args", "it is randint(high, size) or randint(low, high, size)", """
labels = torch.randint(10)  # <-
""")

mistake("randn device typo", "devices are named \"cpu\", \"cuda\", \"cuda:0\", \"meta\" ...: there is no gpu; cuda", """
x = torch.randn(3, device="gpu")  # <-
""")

mistake("to cuda", "device here: choose device = \"cuda\" if torch.cuda.is_available() else \"cpu\",", """
model = nn.Linear(2, 2)
model.to("cuda")  # <-
""")

mistake("dtype string", "dtypes are objects of torch: torch.float32, torch.int64, torch.bool", """
x = torch.zeros(3, dtype="float32")  # <-
""")

mistake("numpy neg stride", "copy the array first: a[::-1].copy()", """
a = np.arange(6)[::-1]
x = torch.from_numpy(a)  # <-
""")

mistake("generator reuse params", "sum: call model.parameters() again, or keep list(model.parameters())", """
model = nn.Linear(3, 1)
params = model.parameters()
n = sum(p.numel() for p in params)
opt = torch.optim.SGD(params, lr=0.1)  # <-
""")

mistake("adam lr negative", "learning rate (lr, momentum, betas ...) must lie in its range: 0 or more; betas", """
opt = torch.optim.Adam([nn.Parameter(torch.ones(1))], lr=-0.001)  # <-
""")

mistake("adam betas", "beta (lr, momentum, betas ...) must lie in its range: 0 or more; betas below 1", """
opt = torch.optim.Adam([nn.Parameter(torch.ones(1))], betas=(0.9, 1.0))  # <-
""")

mistake("sgd nesterov", "pass momentum=0.9, say, and dampening=0 with nesterov=True", """
opt = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, nesterov=True)  # <-
""")

mistake("lbfgs no closure", "give step() a function that computes the loss, calls backward() and returns the", """
w = nn.Parameter(torch.ones(1))
opt = torch.optim.LBFGS([w])
(w ** 2).sum().backward()
opt.step()  # <-
""")

mistake("steplr step size missing", "give it step_size=...: it is StepLR(optimizer, step_size, gamma=0.1,", """
opt = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt)  # <-
""")

mistake("cosine tmax kw", "did you mean T_max? It is CosineAnnealingLR(optimizer, T_max, eta_min=0.0,", """
opt = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, t_max=10)  # <-
""")

mistake("register buffer dup", "choose another name than 'scale'", """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0
        self.register_buffer("scale", torch.ones(1))  # <-
M()
""")

mistake("assign tensor param", "wrap it: layer.weight = nn.Parameter(tensor); or change the values with", """
layer = nn.Linear(2, 2)
layer.weight = torch.zeros(2, 2)  # <-
""")

mistake("modulelist call", "modules: call them one by one, for layer in layers: x = layer(x), or make it an", """
layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
y = layers(torch.randn(1, 2))  # <-
""")

mistake("sequential list", "list apart: nn.Sequential(*layers)", """
net = nn.Sequential([nn.Linear(2, 2), nn.ReLU()])  # <-
""")
