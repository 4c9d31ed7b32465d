"""Mistakes in programs of some lines: the message names each value as the line does, and the element that is wrong."""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))

mistake("named 3 of 08", "t = 17", """
class GPT(nn.Module):
    def __init__(self, vocab=50, d=8, context=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(context, d)
        self.out = nn.Linear(d, vocab)

    def forward(self, ids):
        b, t = ids.shape
        pos = self.pos(torch.arange(t))  # <-
        return self.out(self.tok(ids) + pos)

@torch.no_grad()
def generate(model, ids, n):
    for _ in range(n):
        logits = model(ids)[:, -1]
        nxt = torch.multinomial(logits.softmax(-1), 1)
        ids = torch.cat([ids, nxt], dim=1)
    return ids

model = GPT()
print(generate(model, torch.zeros(1, 1, dtype=torch.int64), 30).shape)
""")

mistake("named 3 of 09", "pe[:, 1::2] is (50, 3)", """
import math

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        pos = torch.arange(max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)  # <-
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]

class Encoder(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.pos = PositionalEncoding(n_features)
        self.attn = nn.MultiheadAttention(n_features, 1, batch_first=True)

    def forward(self, x):
        x = self.pos(x)
        return self.attn(x, x, x)[0]

enc = Encoder(7)
""")

mistake("named 3 of 11", "frame[4, 1] is None", """
def load():
    ages = [31, 45, 22, 39, 51, 28]
    income = [2.1, 3.9, 1.0, 2.7, None, 1.8]
    city = [0, 1, 1, 2, 0, 2]
    return np.array([ages, income, city], dtype=object).T

def to_tensor(frame):
    x = torch.from_numpy(frame)  # <-
    return (x - x.mean(0)) / x.std(0)

model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
x = to_tensor(load())
print(model(x).shape)
""")

mistake("named 3 of 12", "img.copy()", """
Dataset = torch.utils.data.Dataset
DataLoader = torch.utils.data.DataLoader

class Images(Dataset):
    def __init__(self, n, flip):
        rng = np.random.default_rng(1)
        self.data = rng.random((n, 8, 8, 3)).astype(np.float32)
        self.flip = flip

    def __len__(self):
        return len(self.data)

    def augment(self, img):
        if self.flip:
            img = img[:, ::-1]
        return img.transpose(2, 0, 1)

    def __getitem__(self, i):
        img = self.augment(self.data[i])
        t = torch.from_numpy(img)  # <-
        return t, i % 2

for x, y in DataLoader(Images(4, flip=True), batch_size=2):
    print(x.shape, y)
""")

mistake("named 3 of 13", "rows[1] has 2 elements, and rows[0] 3", """
VOCAB = {w: i + 1 for i, w in enumerate("the cat sat on a mat dog ran".split())}

def numericalize(texts):
    rows = [[VOCAB[w] for w in t.split()] for t in texts]
    return torch.tensor(rows)  # <-

class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, 5)
        self.fc = nn.Linear(5, 2)

    def forward(self, ids):
        return self.fc(self.emb(ids).mean(1))

texts = ["the cat sat", "dog ran", "a cat ran"]
print(Bag()(numericalize(texts)))
""")

mistake("named 3 of 14", "labels[1, 2, 3] is 255, num_classes is 4", """
def dice_loss(logits, labels, n):
    probs = logits.softmax(1)
    onehot = F.one_hot(labels, num_classes=n).permute(0, 3, 1, 2).float()  # <-
    inter = (probs * onehot).sum((2, 3))
    union = probs.sum((2, 3)) + onehot.sum((2, 3))
    return 1 - (2 * inter / union.clamp(min=1e-6)).mean()

logits = torch.randn(2, 4, 5, 5, requires_grad=True)
labels = (torch.arange(50) % 4).reshape(2, 5, 5)
labels[1, 2, 3] = 255
loss = dice_loss(logits, labels, 4)
loss.backward()
""")

mistake("named 3 of 19", "give it the pair, (h0, c0)", """
class Seq2Seq(nn.Module):
    def __init__(self, n, hidden=16, layers=2):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.enc = nn.GRU(n, hidden, layers, batch_first=True)
        self.lstm = nn.LSTM(n, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, n)

    def forward(self, src, tgt):
        _, h0 = self.enc(src)
        out, hc = self.lstm(tgt, h0)  # <-
        return self.out(out)

model = Seq2Seq(5)
src, tgt = torch.randn(3, 7, 5), torch.randn(3, 4, 5)
loss = (model(src, tgt) - tgt).pow(2).mean()
loss.backward()
""")

mistake("named 3 of 21", "in_len (input_lengths): (2,) int64", """
class Speech(nn.Module):
    def __init__(self, n_mels, n_sym):
        super().__init__()
        self.conv = nn.Conv1d(n_mels, 16, 3, stride=2, padding=1)
        self.out = nn.Linear(16, n_sym)
        self.ctc = nn.CTCLoss(blank=0)

    def forward(self, mel):
        h = torch.relu(self.conv(mel)).transpose(1, 2)
        return self.out(h).log_softmax(-1).transpose(0, 1)

    def loss(self, mel, targets, tgt_len):
        logp = self(mel)
        in_len = torch.full((mel.size(0),), mel.size(2), dtype=torch.long)
        return self.ctc(logp, targets, in_len, tgt_len)  # <-

net = Speech(13, 6)
mel = torch.randn(2, 13, 40)
targets = torch.randint(1, 6, (2, 7))
loss = net.loss(mel, targets, torch.tensor([7, 5]))
loss.backward()
""")

mistake("named 3 of 23", "cache['hidden']: (4, 2) float32", """
import copy

class EarlyStopping:
    def __init__(self):
        self.best_loss = float("inf")
        self.best = None

    def update(self, loss, cache):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = copy.deepcopy(cache)  # <-

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.cache = {}

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        self.cache["hidden"] = h
        return h.sum(1)

net, stop = Net(), EarlyStopping()
loss = net(torch.randn(4, 3)).mean()
loss.backward()
stop.update(loss.item(), net.cache)
""")

mistake("named 3 of 26", "call images.retain_grad() before backward()", """
net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))

def normalise(x):
    return (x - 0.5) / 0.25

def saliency_map(net, images, cls):
    images = normalise(images)
    scores = net(images)
    scores[:, cls].sum().backward()
    saliency = images.grad.abs()  # <-
    return saliency / saliency.max()

raw = torch.rand(2, 1, 4, 4, requires_grad=True)
print(saliency_map(net, raw, 1).shape)
""")

mistake("named 3 of 28", "net.head.weight (2, 8) is in group 0 and in group 1", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))

def make_optimizer(net, lr):
    groups = [{"params": net.parameters(), "lr": lr},
              {"params": net.head.parameters(), "lr": lr * 10}]
    opt = torch.optim.SGD(groups, lr=lr, momentum=0.9)  # <-
    return opt

net = Net()
opt = make_optimizer(net, 0.01)
net(torch.randn(3, 4)).sum().backward()
opt.step()
""")

mistake("named 4 of 03", "pass trainable.values()", """
optim = torch.optim

def trainable_parameters(model, skip=("bias",)):
    return {n: p for n, p in model.named_parameters() if not n.endswith(skip)}

def make(model):
    trainable = trainable_parameters(model)
    return optim.Adam(trainable, lr=1e-3)  # <-

model = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))
opt = make(model)
model(torch.ones(1, 3)).sum().backward()
opt.step()
""")

mistake("named 4 of 08", "returned a tuple, (output, hidden), which nn.Sequential passes on", """
class Forecast(nn.Module):
    def __init__(self, n, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.LSTM(n, hidden, batch_first=True),
            nn.Linear(hidden, n))

    def forward(self, x):
        y = self.net(x)  # <-
        return y[:, -1]

model = Forecast(3, 12)
window = torch.randn(4, 10, 3)
loss = nn.functional.mse_loss(model(window), torch.zeros(4, 3))
loss.backward()
""")

mistake("named 4 of 14", "did you mean forward?", """
class Scorer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bil = nn.Bilinear(n, n, 1)

    def foward(self, a, b):
        return self.bil(a, b).squeeze(-1)

class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.score = Scorer(4)

    def forward(self, i, j):
        return self.score(self.emb(i), self.emb(j))  # <-

r = Ranker()
print(r(torch.tensor([1, 2]), torch.tensor([3, 4])))
""")

mistake("named 4 of 15", "net.a.weight.grad[0, 0] is nan", """
def entropy(p):
    return -(p * torch.log(p)).sum(-1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 6)
        self.b = nn.Linear(6, 4)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))))

torch.manual_seed(0)
net = Net()
p = net(torch.randn(5, 3))
p = p / p.sum(-1, keepdim=True).clamp(min=1e-6)
loss = entropy(p).mean()
loss.backward()
total = nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)  # <-
print(total)
""")

mistake("named 4 of 20", "fc1.weight is (8, 3) in the first and (16, 3) in number 2", """
functional_call = torch.func.functional_call
stack_module_state = torch.func.stack_module_state
vmap = torch.func.vmap

class Member(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1 = nn.Linear(3, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

def ensemble_predict(models, x):
    params, buffers = stack_module_state(models)  # <-
    base = models[0]

    def call(p, b):
        return functional_call(base, (p, b), (x,))

    return vmap(call)(params, buffers)

models = [Member(h) for h in (8, 8, 16)]
print(ensemble_predict(models, torch.randn(4, 3)).shape)
""")

mistake("named 4 of 21", "i + size + horizon - 1 is 20", """
def make_windows(series, size, horizon):
    xs, ys = [], []
    for i in range(len(series) - size + 1):
        x = series[i:i + size]
        y = series[i + size + horizon - 1]  # <-
        xs.append(x)
        ys.append(y)
    return torch.stack(xs), torch.stack(ys)

series = torch.cumsum(torch.randn(20), 0)
X, Y = make_windows(series, size=5, horizon=1)
print(X.shape, Y.shape)
""")

mistake("named 4 of 25", "estimates (value): (4,) float32", """
def impute(col):
    missing = torch.isnan(col)
    mean = col[~missing].mean()
    estimates = torch.full((len(col) - 2,), 1.0) * mean
    filled = col.clone()
    filled[missing] = estimates  # <-
    return filled

def impute_table(t):
    return torch.stack([impute(t[:, j]) for j in range(t.shape[1])], dim=1)

nan = float("nan")
table = torch.tensor([[1.0, nan], [2.0, 4.0], [nan, 5.0], [4.0, nan], [5.0, nan], [nan, 8.0]])
table[1, 0] = nan
print(impute_table(table))
""")

mistake("named 4 of 27", "x.unsqueeze(0) first where the batch is missing", """
class Preprocess(nn.Module):
    def forward(self, x):
        x = x.float() / 255
        x = x.permute(0, 3, 1, 2)  # <-
        return (x - x.mean((2, 3), keepdim=True)) / x.std((2, 3), keepdim=True)

def predict(model, image):
    t = torch.from_numpy(image)
    return model(t).argmax(1)

model = nn.Sequential(Preprocess(), nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
image = np.random.default_rng(0).integers(0, 256, (28, 28, 3), dtype=np.uint8)
print(predict(model, image))
""")

mistake("named 4 of 29", "loss: (4,) float32", """
class Evaluator:
    def __init__(self, model):
        self.model = model.eval()
        self.crit = nn.L1Loss(reduction="none")

    @torch.no_grad()
    def run(self, batches):
        total = 0.0
        for x, y in batches:
            loss = self.crit(self.model(x).squeeze(1), y)
            total += loss.item()  # <-
        return total / len(batches)

batches = [(torch.randn(4, 3), torch.randn(4)) for _ in range(2)]
print(Evaluator(nn.Linear(3, 1)).run(batches))
""")

mistake("named 5 of 01", "compute it without item()", """
class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 3)

    def forward(self, x):
        z = torch.tanh(self.lin(x))
        norm = torch.tensor([row.norm().item() for row in z])
        return norm

class Pipeline:
    def __init__(self):
        self.model = Embedder()
        self.opt = torch.optim.Adam(self.model.parameters())

    def step(self, x, target):
        score = self.model(x)
        loss = (score - target).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()  # <-
        self.opt.step()

Pipeline().step(torch.randn(4, 6), torch.ones(4))
""")

mistake("named 5 of 02", "compute reg inside the loop", """
def penalty(model, lam=1e-2):
    return lam * sum(p.pow(2).sum() for p in model.parameters())

def fit(model, x, y, steps):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    reg = penalty(model)
    for _ in range(steps):
        data_loss = nn.functional.mse_loss(model(x), y)
        total = data_loss + reg
        opt.zero_grad()
        total.backward()  # <-
        opt.step()
    return total.item()

model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
print(fit(model, torch.randn(10, 3), torch.randn(10, 1), 3))
""")

mistake("named 5 of 06", "groups=1, 2, 3, 6 fit", """
class Separable(nn.Module):
    def __init__(self, i, o, groups):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1, groups=groups)  # <-
        self.point = nn.Conv2d(o, o, 1)

    def forward(self, x):
        return self.point(torch.relu(self.conv(x)))

def build(width, groups=4):
    return nn.Sequential(nn.Conv2d(3, width, 3), Separable(width, width * 2, groups), nn.Flatten())

net = build(8)
small = build(6)
print(small(torch.rand(1, 3, 8, 8)).shape)
""")

mistake("named 5 of 08", "cast the mask with m.bool()", """
class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x, m):
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=m)  # <-
        return out.transpose(1, 2).reshape(b, t, d)

t = 5
causal = torch.tril(torch.ones(t, t, dtype=torch.int64))
layer = Attn(8, 2)
y = layer(torch.randn(3, t, 8), causal)
""")

mistake("named 5 of 09", "save model.state_dict()", """
import io

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return self.bn(self.conv(x))

def save(net, f):
    torch.save({n: p.detach() for n, p in net.named_parameters()}, f)

def load(f):
    net = Net()
    net.load_state_dict(torch.load(f))  # <-
    return net

f = io.BytesIO()
save(Net(), f)
f.seek(0)
net = load(f)
""")

mistake("named 5 of 13", "it is 25, and the table has 25 rows, 0 to 24", """
class ItemTower(nn.Module):
    def __init__(self, n_items, d):
        super().__init__()
        self.pad = n_items
        self.emb = nn.Embedding(n_items, d, padding_idx=self.pad)  # <-

    def forward(self, history):
        e = self.emb(history)
        return e.sum(1) / (history != self.pad).sum(1, keepdim=True)

class Recommender(nn.Module):
    def __init__(self, n_users, n_items, d=8):
        super().__init__()
        self.user = nn.Embedding(n_users, d)
        self.item = ItemTower(n_items, d)

    def forward(self, u, history):
        return (self.user(u) * self.item(history)).sum(-1)

model = Recommender(10, 25)
""")

mistake("named 5 of 18", "out.detach().numpy()", """
class Ensemble:
    def __init__(self, n):
        self.models = [nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)) for _ in range(n)]

    def predict(self, x):
        t = torch.as_tensor(x, dtype=torch.float32)
        preds = []
        for m in self.models:
            out = m(t).squeeze(1)
            preds.append(np.asarray(out))  # <-
        return np.mean(preds, axis=0), np.std(preds, axis=0)

mean, std = Ensemble(3).predict(np.random.rand(5, 3))
print(mean, std)
""")

mistake("named 5 of 21", "p is Normal and q is Bernoulli", """
Beta = torch.distributions.Beta
Bernoulli = torch.distributions.Bernoulli
Normal = torch.distributions.Normal
kl_divergence = torch.distributions.kl_divergence

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4)
        self.dec = nn.Linear(2, 6)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        q = Normal(mu, (0.5 * logvar).exp())
        z = q.rsample()
        p = Bernoulli(probs=torch.full_like(mu, 0.5))
        kl = kl_divergence(q, p).sum(1)  # <-
        return self.dec(z), kl

x = torch.rand(3, 6)
recon, kl = VAE()(x)
""")
