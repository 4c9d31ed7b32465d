"""Mistakes that programs of vision, language, graphs and reinforcement learning make: those of several sets, written
before anybody looked at what claygrad says of them, where it said too little at first.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("bert style pooler", "it runs with mask.squeeze(1), (4, 10)", """
class Classifier(nn.Module):
    def __init__(self, vocab=50, dim=16, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.fc = nn.Linear(dim, classes)
    def forward(self, ids, mask):
        x = self.encoder(self.emb(ids), src_key_padding_mask=mask)  # <-
        return self.fc(x[:, 0])
model = Classifier()
ids = torch.randint(0, 50, (4, 10))
mask = (ids != 0).float().unsqueeze(1)
model(ids, mask)
""")

mistake("policy action tensor into env", "self.moves[a.item()]", """
class Env:
    def __init__(self):
        self.moves = {0: -1, 1: 1}
        self.x = 0
    def step(self, a):
        self.x += self.moves[a]  # <-
        return self.x
policy = nn.Linear(1, 2)
env = Env()
dist = torch.distributions.Categorical(logits=policy(torch.zeros(1)))
env.step(dist.sample())
""")

mistake("log prob of tanh normal with wrong shape", "torch.diag_embed(std ** 2) makes it", """
mu, std = torch.zeros(2, 3), torch.tensor([[1., 2., 3.], [4., 5., 6.]])
dist = torch.distributions.MultivariateNormal(mu[0], std)  # <-
""")

mistake("replay of dicts", "item 'info' of sample 0 of the batch is NoneType", """
Dataset, DataLoader = torch.utils.data.Dataset, torch.utils.data.DataLoader
class Replay(Dataset):
    def __init__(self):
        self.data = [dict(s=torch.randn(4), a=i % 2, info=None) for i in range(10)]
    def __len__(self): return len(self.data)
    def __getitem__(self, i): return self.data[i]  # <-
for batch in DataLoader(Replay(), batch_size=4):  # <-
    print(batch["s"].shape)
""")

mistake("gan labels of fixed batch size", "it runs with real_label[:8], (8, 1)", """
D = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
criterion = nn.BCELoss()
real_label = torch.ones(16, 1)
data = torch.randn(40, 6)
for i in range(0, 40, 16):
    real = data[i:i + 16]
    err = criterion(D(real), real_label)  # <-
""")

mistake("grad scaler step without scale", "scaler.scale(loss).backward() in place of loss.backward()", """
model = nn.Linear(2, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
loss = model(torch.randn(4, 2)).mean()
loss.backward()
scaler.step(opt)  # <-
scaler.update()
""")

mistake("dice loss on logits vs mask", "it runs with F.interpolate(target.unsqueeze(1), size=(32, 32))", """
def dice_loss(pred, target, eps=1e-6):
    pred = pred.sigmoid()
    inter = (pred * target).sum(dim=(2, 3))  # <-
    return 1 - (2 * inter + eps) / (pred.sum((2, 3)) + target.sum((2, 3)) + eps)
pred = torch.randn(2, 1, 32, 32, requires_grad=True)
mask = torch.randint(0, 2, (2, 64, 64)).float()
dice_loss(pred, mask).mean().backward()
""")

mistake("nms style boolean indexing of wrong dim", "it runs with keep.squeeze(-1), (10,)", """
boxes, scores = torch.rand(10, 4), torch.rand(10, 1)
keep = scores > 0.5
boxes = boxes[keep]  # <-
""")

mistake("gcn with edge list not transposed", "src, dst = edge_index.unbind(-1) takes its columns", """
class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(5, 3)
    def forward(self, x, edge_index):
        src, dst = edge_index  # <-
        h = self.lin(x)
        return torch.zeros_like(h).index_add_(0, dst, h[src])
edges = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]])
GCN()(torch.randn(4, 5), edges)
""")

mistake("embedding given to lstm not batch first hidden", "it runs where the layer is made with batch_first=True", """
emb, lstm = nn.Embedding(20, 8), nn.LSTM(8, 16)
x = torch.randint(0, 20, (4, 12))
h = (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
out, h = lstm(emb(x), h)  # <-
""")

mistake("teacher forcing input squeeze", "it runs where the layer is made with batch_first=True", """
emb, gru, out = nn.Embedding(10, 8), nn.GRU(8, 16), nn.Linear(16, 10)
token, h = torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2, 16)
for t in range(3):
    o, h = gru(emb(token), h)  # <-
    token = out(o)[0].topk(1)[1]
""")

mistake("detection targets list to device", "[x.to(...) for x in images]", """
def collate(batch):
    return tuple(zip(*batch))
data = [(torch.rand(3, 8, 8), {"boxes": torch.rand(2, 4)}) for _ in range(4)]
loader = torch.utils.data.DataLoader(data, batch_size=2, collate_fn=collate)
for images, targets in loader:
    images = images.to("cpu")  # <-
""")

mistake("huggingface style output to loss", "outputs is a Out: take the tensor in it, outputs.logits", """
from collections import namedtuple
Out = namedtuple("Out", "loss logits")
class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x): return Out(None, self.fc(x))
model = Bert()
outputs = model(torch.randn(3, 4))
loss = F.cross_entropy(outputs, torch.tensor([0, 1, 0]))  # <-
""")

mistake("single image without batch into batchnorm", "it runs with img.unsqueeze(0), (1, 3, 16, 16)", """
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
img = torch.rand(3, 16, 16)
model.eval()
model(img)  # <-
""")

mistake("class weights on long", "make it with CrossEntropyLoss(weight=weight.float())", """
w = torch.tensor([1, 3, 5])
crit = nn.CrossEntropyLoss(weight=w)
loss = crit(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))  # <-
""")

mistake("masks of 255 in segmentation", "ignore_index=255 leaves it out", """
logits = torch.randn(2, 2, 8, 8, requires_grad=True)
mask = torch.zeros(2, 8, 8, dtype=torch.long)
mask[:, 2:4] = 255
loss = F.cross_entropy(logits, mask)  # <-
""")

mistake("mask with channel dim of image loader", "it runs with mask.squeeze(-1), (2, 8, 8)", """
logits = torch.randn(2, 5, 8, 8, requires_grad=True)
mask = torch.randint(0, 5, (2, 8, 8, 1))
loss = nn.CrossEntropyLoss()(logits, mask)  # <-
""")

mistake("random split of floats", "fractions that add up to 1: [0.8, 0.2]", """
data = torch.utils.data.TensorDataset(torch.randn(103, 2))
train, val = torch.utils.data.random_split(data, [0.8 * len(data), 0.2 * len(data)])  # <-
""")

mistake("getitem of pandas like index", "take self.rows[self.keys[i]]", """
class Frame(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = {10: 1.0, 11: 2.0, 12: 3.0}
    def __len__(self): return len(self.rows)
    def __getitem__(self, i): return self.rows[i]  # <-
for x in torch.utils.data.DataLoader(Frame(), batch_size=3):
    pass
""")

mistake("frozen all then head replaced later", "call requires_grad_() on the parameters", """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
for p in model.parameters():
    p.requires_grad = False  # <-
loss = F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1]))
loss.backward()  # <-
""")

mistake("feature extractor attribute of hook", "RemovableHandle has remove()", """
feats = []
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
handle = net[0].register_forward_hook(lambda m, i, o: feats.append(o))
net(torch.randn(1, 1, 8, 8))
handle.detach()  # <-
""")

mistake("gradcam without retain", "call acts.retain_grad() before backward()", """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
acts = net[0](torch.randn(1, 3))
out = net[2](net[1](acts))
out[0, 1].backward()
cam = acts.grad * acts  # <-
""")

mistake("functional call missing buffers tuple", "dict(model.named_parameters())", """
net = nn.Linear(3, 2)
params = list(net.parameters())
out = torch.func.functional_call(net, params, torch.randn(2, 3))  # <-
""")

mistake("load model object as state", "model.load_state_dict(model) fills it", """
import io
buf = io.BytesIO()
net = nn.Linear(2, 2)
torch.save(net.state_dict(), buf); buf.seek(0)
model = torch.load(buf)
model.eval()  # <-
""")

mistake("assign state dict result", "on a line of its own, model.load_state_dict(state)", """
net = nn.Linear(2, 2)
state = net.state_dict()
net = net.load_state_dict(state)
out = net(torch.randn(1, 2))  # <-
""")

mistake("bf16 output to numpy", "call .float() before .numpy()", """
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = nn.Linear(3, 2)(torch.randn(4, 3))
a = y.detach().numpy()  # <-
""")

mistake("packed into linear", "nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0]", """
x = torch.randn(3, 6, 4)
packed = nn.utils.rnn.pack_padded_sequence(x, [6, 4, 2], batch_first=True)
lstm, fc = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)
out, _ = lstm(packed)
y = fc(out)  # <-
""")

mistake("embedding of one hot", "x.argmax(-1) is the index that the layer takes", """
x = F.one_hot(torch.tensor([1, 2]), 5).float()
emb = nn.Embedding(5, 3)
y = emb(x)  # <-
""")

mistake("masked fill in half of 1e9", "torch.finfo(scores.dtype).min", """
scores = torch.randn(2, 4, 4).half()
mask = torch.ones(4, 4).triu(1).bool()
scores = scores.masked_fill(mask, -1e9)  # <-
""")

mistake("label smoothing kl of index", "10).float(), or F.nll_loss(logp", """
logp = torch.randn(4, 10).log_softmax(-1)
loss = nn.KLDivLoss(reduction="batchmean")(logp, torch.randint(0, 10, (4,)))  # <-
""")

mistake("own attention transpose missing", "it runs with k.transpose(1, 2), (2, 8, 5)", """
q, k, v = torch.randn(2, 5, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
att = torch.softmax(q @ k / 8 ** 0.5, dim=-1) @ v  # <-
""")

mistake("ctc with batch first", "it runs with logp.transpose(0, 1), (50, 4, 20)", """
logp = torch.randn(4, 50, 20).log_softmax(-1)
targets = torch.randint(1, 20, (4, 10))
loss = F.ctc_loss(logp, targets, torch.full((4,), 50), torch.full((4,), 10))  # <-
""")

mistake("sum of generator of tensors torch", "Python's sum adds it up", """
params = nn.Linear(3, 2).parameters()
l2 = torch.sum(p.pow(2).sum() for p in params)  # <-
""")

mistake("betas as single number", "betas is a tuple of 2, (0.9, 0.999) if it is left out, and 0.9 came", """
model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters(), betas=0.9)  # <-
""")

mistake("closure without return", "has no return, so it gives None", """
model = nn.Linear(2, 1)
opt = torch.optim.LBFGS(model.parameters())
x = torch.randn(4, 2)
def closure():
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
opt.step(closure)  # <-
""")

mistake("lr as string from yaml", "a number came as a string: float(value)", """
cfg = {"lr": "1e-3"}
model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])  # <-
""")

mistake("tied decoder weight transposed", "it runs with self.enc.weight.T, (6, 2)", """
class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 2)
    def forward(self, x):
        z = self.enc(x)
        return F.linear(z, self.enc.weight)  # <-
AE()(torch.randn(3, 6))
""")

mistake("register buffer of numpy", "torch.from_numpy(np.zeros(3))", """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", np.zeros(3))  # <-
Norm()
""")

mistake("pad 4 values on 2d linear", "4 of them pad 2, and the input has 1; give 2 at most", """
x = torch.randn(5)
y = F.pad(x, (1, 1, 1, 1))  # <-
""")

mistake("interpolate size of 3d", "it runs with img.unsqueeze(0), (1, 3, 8, 8)", """
img = torch.rand(3, 8, 8)
y = F.interpolate(img, size=(16, 16))  # <-
""")

mistake("pil image to tensor", "torch.from_numpy(np.asarray(x)) a tensor", """
class Image:
    size = (4, 4)
x = torch.tensor(Image())  # <-
""")

mistake("graph attention softmax over wrong index", "it runs with score.exp().squeeze(-1), (8,)", """
n, e = 5, 8
h = torch.randn(n, 4)
edge = torch.randint(0, n, (2, e))
score = torch.randn(e, 1)
alpha = torch.zeros(n).scatter_add_(0, edge[1], score.exp())  # <-
""")

mistake("grid sample missing batch", "it runs with grid.unsqueeze(0), (1, 4, 4, 2)", """
img, grid = torch.rand(1, 3, 8, 8), torch.rand(4, 4, 2)
y = F.grid_sample(img, grid)  # <-
""")

mistake("gym observation tuple", "torch.from_numpy(obs[0])", """
obs = (np.zeros(4, dtype=np.float32), {})
x = torch.from_numpy(obs)  # <-
""")

mistake("soft update of target with wrong zip", "(0.01 * p)[:4]", """
online, target = nn.Linear(4, 8), nn.Linear(4, 4)
with torch.no_grad():
    for p, tp in zip(online.parameters(), target.parameters()):
        tp.mul_(0.99).add_(0.01 * p)  # <-
""")

mistake("load with wrong path", "checkpoints: correct the path", """
state = torch.load("checkpoints/missing_model.pt")  # <-
""")

mistake("sort list of predictions by tensor key", "sorted(preds, key=lambda t: t[1].mean().item())", """
preds = [("a", torch.tensor([0.1, 0.2])), ("b", torch.tensor([0.3, 0.1]))]
best = sorted(preds, key=lambda t: t[1])  # <-
""")

mistake("list index by tensor float", "p.argmax().item()", """
names = ["cat", "dog"]
p = torch.tensor([0.2, 0.8])
print(names[p.max()])  # <-
""")

mistake("string label comparison", "make a tensor of the other side first", """
y = torch.tensor([0, 1])
acc = (y == ["cat", "dog"]).float().mean()  # <-
""")

mistake("wrong number of loader items", "gives batches of TensorDataset, which holds 3 tensors", """
data = torch.utils.data.TensorDataset(torch.randn(6, 2), torch.randn(6), torch.arange(6))
for x, y in torch.utils.data.DataLoader(data, batch_size=2):  # <-
    pass
""")

mistake("class not instance", "make the model first, model = Net(), and give the data to it", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x): return self.fc(x)
out = Net(torch.randn(1, 2))  # <-
""")

mistake("activation class called with data", "nn.ReLU()(x)", """
x = torch.randn(2, 3)
y = nn.ReLU(x)
z = y + 1  # <-
""")

mistake("softmax module called with dim positional", "nn.Softmax(dim=1)(torch.randn(2, 3))", """
y = nn.Softmax(torch.randn(2, 3), dim=1)  # <-
""")

mistake("vit position embedding without cls", "self.cls.expand(2, -1, -1) is (2, 1, 16)", """
class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 16, 8, 8)
        self.cls = nn.Parameter(torch.zeros(1, 1, 16))
        self.pos = nn.Parameter(torch.zeros(1, 16, 16))
    def forward(self, x):
        x = self.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls, x], dim=1)  # <-
        return x + self.pos
ViT()(torch.randn(2, 3, 32, 32))
""")

mistake("logits shift mismatch", "scores[:, :-1] go with target[:, 1:], so cut both", """
logits = torch.randn(2, 10, 50)
labels = torch.randint(0, 50, (2, 10))
loss = F.cross_entropy(logits[:, :-1].reshape(-1, 50), labels.reshape(-1))  # <-
""")

mistake("lora merge shapes", "it runs the other way round, B @ A", """
w = nn.Linear(16, 32).weight
A, B = torch.randn(4, 16), torch.randn(32, 4)
w2 = w + A @ B  # <-
""")

mistake("moe index select float gates", "[experts[j] for j in idx[:, 0].tolist()]", """
gates = torch.softmax(torch.randn(5, 3), -1)
val, idx = gates.topk(2)
experts = [nn.Linear(4, 4) for _ in range(3)]
x = torch.randn(5, 4)
out = experts[idx[:, 0]](x)  # <-
""")

mistake("beam index tensor to tuple", "[beams[j] for j in i.tolist()]", """
beams = [[1, 2], [3, 4]]
i = torch.tensor([0, 1])
best = beams[i]  # <-
""")

mistake("mel spectrogram window on wrong device dtype", "torch.hann_window(400), or n_fft=512", """
wave = torch.randn(1, 16000)
spec = torch.stft(wave, n_fft=400, hop_length=160, window=torch.hann_window(512), return_complex=True)  # <-
""")

mistake("stft without return complex", "pass return_complex=True", """
wave = torch.randn(16000)
spec = torch.stft(wave, 400)  # <-
""")

mistake("gradcheck in float", "x.double().requires_grad_()", """
def f(x): return x * 2 if x.dtype == torch.float64 else x * 2.001
x = torch.randn(3, requires_grad=True)
torch.autograd.gradcheck(lambda v: (v * 1e3).exp(), (x,))  # <-
""")

mistake("dataset returns string label", "let the dataset give indices of classes", """
class D(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.zeros(2), "cat"
for x, y in torch.utils.data.DataLoader(D(), batch_size=2):
    loss = F.cross_entropy(x, y)  # <-
""")

mistake("dataset index float", "// gives an int, or int(...)", """
class D(torch.utils.data.Dataset):
    def __init__(self): self.x = torch.randn(10, 2)
    def __len__(self): return len(self.x) / 2
    def __getitem__(self, i): return self.x[i]
loader = torch.utils.data.DataLoader(D(), batch_size=2, shuffle=True)  # <-
""")

mistake("collate returns none", "collate_fn, or __getitem__ of the dataset, has no return", """
def collate(batch):
    torch.stack(batch)
for x in torch.utils.data.DataLoader([torch.zeros(2)] * 4, batch_size=2, collate_fn=collate):
    y = x * 2  # <-
""")

mistake("max of python on two tensors", "torch.maximum(a, b) compares each element", """
a, b = torch.randn(3), torch.randn(3)
m = max(a, b)  # <-
""")

mistake("randint missing size", "torch.randint(0, 10, (n,))", """
x = torch.randint(0, 10)  # <-
""")

mistake("two logits with bce", "y.long()) takes them so", """
model = nn.Linear(3, 2)
y = torch.tensor([1., 0., 1., 1.])
loss = F.binary_cross_entropy_with_logits(model(torch.randn(4, 3)), y)  # <-
""")

mistake("autoencoder flattened vs image", "it runs with img.flatten(1), (4, 64)", """
ae = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 64))
img = torch.rand(4, 1, 8, 8)
loss = F.binary_cross_entropy(torch.sigmoid(ae(img)), img)  # <-
""")

mistake("device with a letter", "after the colon stands a number", """
x = torch.ones(2).to("cpu:x")  # <-
""")

mistake("argnums beyond the arguments", "argnums counts the arguments of the function from 0, and 2 came", """
f = torch.func.jacrev(lambda x, y: x * y, argnums=2)
f(torch.ones(2), torch.ones(2))  # <-
""")

mistake("negative workers", "the number of processes that read samples", """
torch.utils.data.DataLoader([1, 2], num_workers=-1)  # <-
""")

mistake("largest values as the second operand", "take net(s).max(1).values", """
net, s, r = nn.Linear(4, 2), torch.randn(8, 4), torch.randn(8)
target = r + net(s).max(1)  # <-
""")

mistake("shortcut outside of a module", "nn.Conv2d(16, 32, kernel_size=1, stride=2)", """
conv = nn.Conv2d(16, 32, 3, stride=2, padding=1)
x = torch.randn(1, 16, 8, 8)
out = F.relu(conv(x)) + x  # <-
""")
