"""Mistakes in programs of some lines: the message names each value as the line does, and the element that is wrong."""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))

mistake("named 1 of 02", "cut it with state = state.detach() between steps", """
class CharModel(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, 8)
        self.rnn = nn.GRU(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, tokens, state):
        h, state = self.rnn(self.emb(tokens), state)
        return self.out(h), state

torch.manual_seed(0)
text = torch.randint(0, 20, (4, 41))
model = CharModel(20, 16)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
state = torch.zeros(1, 4, 16)
for i in range(0, 40, 10):
    x = text[:, i:i + 10]
    y = text[:, i + 1:i + 11]
    logits, state = model(x, state)
    loss = crit(logits.reshape(-1, 20), y.reshape(-1))
    opt.zero_grad()
    loss.backward()  # <-
    opt.step()
""")

mistake("named 1 of 04", "labels (target): (8,) int32", """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()

    def loss(self, features, labels):
        logits = self.model(features)
        return self.criterion(logits, labels)  # <-

rng = np.random.default_rng(0)
X = rng.normal(size=(8, 12)).astype(np.float32)
Y = rng.integers(0, 5, size=8).astype(np.int32)
model = nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 5))
trainer = Trainer(model)
features, labels = torch.from_numpy(X), torch.from_numpy(Y)
loss = trainer.loss(features, labels)
loss.backward()
""")

mistake("named 1 of 06", "ids[0, 2] is 102", """
class BagOfWords(nn.Module):
    def __init__(self, vocab_size, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.cls = nn.Linear(dim, 2)

    def forward(self, ids):
        e = self.tok(ids)  # <-
        return self.cls(e.mean(dim=1))

vocab = {"<pad>": 0, "<unk>": 1}
for w in range(98):
    vocab[f"w{w}"] = len(vocab)
vocab["[CLS]"] = 101
vocab["[SEP]"] = 102

def encode(words):
    return [vocab.get(w, 1) for w in words]

ids = torch.tensor([encode(["w3", "w4", "[SEP]"]), encode(["w5", "zzz", "<pad>"])])
model = BagOfWords(vocab_size=100)
print(model(ids).shape)
""")

mistake("named 1 of 13", "item 0 of sample 1 of the batch is (4,), and the first (3,)", """
Dataset = torch.utils.data.Dataset
DataLoader = torch.utils.data.DataLoader

class Reviews(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.texts = [torch.randint(1, 50, (3 + i % 5,), generator=g) for i in range(n)]
        self.labels = [i % 2 for i in range(n)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return self.texts[i], self.labels[i]

def average_length(loader):
    total = 0
    for tokens, label in loader:  # <-
        total += tokens.shape[1]
    return total / len(loader)

loader = DataLoader(Reviews(12), batch_size=4, shuffle=False)
print(average_length(loader))
""")

mistake("named 1 of 16", "or the layer with .to(x.dtype)", """
class Tab(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.inp = nn.Linear(n_features, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.inp(x))  # <-
        return self.out(h).squeeze(-1)

def standardize(a):
    return (a - a.mean(0)) / a.std(0)

rng = np.random.default_rng(3)
data = standardize(rng.normal(5, 2, size=(30, 4)))
target = torch.from_numpy(rng.normal(size=30)).float()
model = Tab(4)
x = torch.from_numpy(data)
loss = nn.functional.mse_loss(model(x), target)
""")

mistake("named 1 of 17", "give it torch.sigmoid(score)", """
class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        self.bce = nn.BCELoss()

    def forward(self, x):
        return self.net(x)

    def loss(self, x, is_real):
        score = self(x)
        label = torch.full_like(score, 1.0 if is_real else 0.0)
        return self.bce(score, label)  # <-

torch.manual_seed(0)
disc = Discriminator()
real = torch.randn(10, 6) * 5
loss = disc.loss(real, True) + disc.loss(-real, False)
loss.backward()
""")

mistake("named 1 of 24", "x (input): (4, 12, 10) float32", """
class Forecaster(nn.Module):
    def __init__(self, n_series, hidden):
        super().__init__()
        self.lstm = nn.LSTM(n_series, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, n_series)

    def forward(self, x):
        h, _ = self.lstm(x)  # <-
        return self.head(h[:, -1])

def add_calendar(series):
    b, t, _ = series.shape
    day = (torch.arange(t) % 7).float().view(1, t, 1).expand(b, t, 1)
    return torch.cat([series, day, day / 7], dim=2)

series = torch.randn(4, 12, 8)
model = Forecaster(8, 32)
pred = model(add_calendar(series))
""")

mistake("named 1 of 25", "(delta < self.tol).any() or (delta < self.tol).all()", """
class PowerIteration:
    def __init__(self, matrix, tol=1e-4):
        self.matrix = matrix
        self.tol = tol

    def step(self, v):
        v = self.matrix @ v
        return v / v.norm()

    def run(self, v, limit=100):
        for i in range(limit):
            nxt = self.step(v)
            delta = (nxt - v).abs()
            if delta < self.tol:  # <-
                return nxt, i
            v = nxt
        return v, limit

a = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
vec, n = PowerIteration(a).run(torch.ones(3))
print(vec, n)
""")

mistake("named 1 of 26", "where device = cuda:0", """
class Config:
    device = "cuda:0"
    lr = 1e-3
    batch = 32

def setup(cfg):
    device = torch.device(cfg.device)
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 2))
    model = model.to(device)  # <-
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    return model, opt, device

model, opt, device = setup(Config())
x = torch.randn(Config.batch, 10, device=device)
print(model(x).shape)
""")

mistake("named 2 of 02", "n[2] is 0", """
pack_padded_sequence = torch.nn.utils.rnn.pack_padded_sequence

PAD = 0

def lengths_of(ids):
    return (ids != PAD).sum(dim=1)

class SentenceEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 6, padding_idx=PAD)
        self.gru = nn.GRU(6, 9, batch_first=True)

    def forward(self, ids):
        n = lengths_of(ids)
        packed = pack_padded_sequence(self.emb(ids), n, batch_first=True, enforce_sorted=False)  # <-
        _, h = self.gru(packed)
        return h.squeeze(0)

batch = torch.tensor([[4, 5, 6, 0], [7, 8, 0, 0], [0, 0, 0, 0]])
enc = SentenceEncoder()
vec = enc(batch)
""")

mistake("named 2 of 03", "mask (attn_mask): (8, 8) bool", """
def causal_mask(n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)

class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        out, _ = self.attn(x, x, x, attn_mask=mask)  # <-
        return self.ff(x + out)

class Decoder(nn.Module):
    def __init__(self, d=16, h=4, depth=2, context=8):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.blocks = nn.ModuleList([Block(d, h) for _ in range(depth)])
        self.register_buffer("mask", causal_mask(context))

    def forward(self, x):
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        for block in self.blocks:
            x = block(x, self.mask)
        return x

dec = Decoder()
y = dec(torch.randn(2, 8, 16))
""")

mistake("named 2 of 04", "pad: (10, 3) bool", """
class Model(nn.Module):
    def __init__(self, vocab, d=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        layer = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(d, vocab)

    def forward(self, ids, pad):
        src = self.emb(ids)
        h = self.encoder(src, src_key_padding_mask=pad)  # <-
        return self.out(h)

ids = torch.randint(1, 20, (3, 10))
ids[1, 6:] = 0
ids[2, 4:] = 0
pad = (ids.t() == 0)
model = Model(20)
logits = model(ids, pad)
loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten(), ignore_index=0)
loss.backward()
""")

mistake("named 2 of 08", "the smallest eigenvalue of K is", """
class GP:
    def __init__(self, length, noise=0.0):
        self.length, self.noise = length, noise

    def kernel(self, a, b):
        d = (a[:, None] - b[None, :]).abs()
        return 1.0 - (d / self.length) ** 2

    def fit(self, x, y):
        K = self.kernel(x, x) + self.noise * torch.eye(len(x))
        L = torch.linalg.cholesky(K)  # <-
        self.alpha = torch.cholesky_solve(y[:, None], L)
        return self

x = torch.tensor([0.0, 1.0, 2.0, 3.0])
gp = GP(length=0.5).fit(x, torch.sin(x))
""")

mistake("named 2 of 13", "dst[4] is 5; make dimension 0 6 long", """
class Graph:
    def __init__(self, edges, n):
        self.src, self.dst = torch.tensor(edges).t()
        self.n = n

    def in_degree(self):
        counts = torch.zeros(self.n)
        dst = self.dst.contiguous()
        ones = torch.ones(dst.shape[0])
        counts.scatter_add_(0, dst, ones)  # <-
        return counts

    def normalised(self):
        return self.in_degree().clamp(min=1).pow(-0.5)

g = Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], n=5)
print(g.normalised())
""")

mistake("named 2 of 14", "compute it outside torch.no_grad()", """
grads = {}

def keep(g):
    grads["feats"] = g

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 8), nn.ReLU())
        self.fc = nn.Linear(8, 3)

    @torch.no_grad()
    def extract(self, x):
        return self.backbone(x)

    def forward(self, x):
        feats = self.extract(x)
        feats.register_hook(keep)  # <-
        return self.fc(feats)

net = Head()
out = net(torch.randn(2, 12))
out[:, 1].sum().backward()
""")

mistake("named 2 of 16", "autograd.grad(..., create_graph=True)", """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)

def gradient_penalty(critic, real, fake, lam=10.0):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    g, = torch.autograd.grad(score.sum(), mix)
    return lam * ((g.norm(dim=1) - 1) ** 2).mean()

critic = Critic()
opt = torch.optim.Adam(critic.parameters(), lr=1e-4)
real, fake = torch.randn(8, 2), torch.randn(8, 2)
penalty = gradient_penalty(critic, real, fake)
opt.zero_grad()
penalty.backward()  # <-
opt.step()
""")

mistake("named 2 of 18", "group 0 of the saved state has 4 parameters, and that of this optimizer 2", """
def make_model():
    return nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3))

def pretrain():
    model = make_model()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    model(torch.randn(4, 6)).sum().backward()
    opt.step()
    return {"model": model.state_dict(), "opt": opt.state_dict()}

def finetune(state):
    model = make_model()
    model.load_state_dict(state["model"])
    for p in model[0].parameters():
        p.requires_grad_(False)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    opt.load_state_dict(state["opt"])  # <-
    return model, opt

model, opt = finetune(pretrain())
""")

mistake("named 2 of 20", "item 1 of sample 2 of the batch is NoneType", """
Dataset = torch.utils.data.Dataset
DataLoader = torch.utils.data.DataLoader

class Detection(Dataset):
    def __init__(self):
        self.images = torch.rand(6, 3, 8, 8)
        self.boxes = {0: [0, 0, 4, 4], 1: [1, 1, 3, 3], 3: [2, 2, 6, 6], 4: [0, 1, 2, 3], 5: [1, 0, 3, 2]}

    def __len__(self):
        return 6

    def __getitem__(self, i):
        box = self.boxes.get(i)
        if box is not None:
            box = torch.tensor(box)
        return self.images[i], box

loader = DataLoader(Detection(), batch_size=3)
areas = []
for images, boxes in loader:  # <-
    w = boxes[:, 2:] - boxes[:, :2]
    areas.append(w.prod(dim=1))
print(torch.cat(areas))
""")

mistake("named 2 of 21", "n_val = 21 takes the rest", """
TensorDataset = torch.utils.data.TensorDataset
DataLoader = torch.utils.data.DataLoader
random_split = torch.utils.data.random_split

def split(data, frac=0.8):
    n_train = int(len(data) * frac)
    n_val = int(len(data) * (1 - frac))
    train, val = random_split(data, [n_train, n_val])  # <-
    return train, val

x = torch.randn(103, 5)
y = torch.randint(0, 2, (103,))
data = TensorDataset(x, y)
train, val = split(data)
loaders = {k: DataLoader(d, batch_size=16) for k, d in (("train", train), ("val", val))}
""")

mistake("named 2 of 22", "cut the longer, targets[:95]", """
TensorDataset = torch.utils.data.TensorDataset
DataLoader = torch.utils.data.DataLoader

def windows(series, size):
    return torch.stack([series[i:i + size] for i in range(len(series) - size)])

def make_dataset(series, size=5):
    inputs = windows(series, size)
    targets = series[size - 1:]
    return TensorDataset(inputs, targets)  # <-

series = torch.sin(torch.arange(100) / 5)
dataset = make_dataset(series)
for xb, yb in DataLoader(dataset, batch_size=20):
    print(xb.shape, yb.shape)
""")

mistake("named 2 of 24", "per_sample_loss returned (4,)", """
grad = torch.func.grad

def predict(w, x):
    return torch.tanh(x @ w)

def per_sample_loss(w, x, y):
    return (predict(w, x) - y) ** 2

def train(w, x, y, steps=3, lr=0.1):
    dloss = grad(per_sample_loss)
    for _ in range(steps):
        g = dloss(w, x, y)  # <-
        w = w - lr * g
    return w

x = torch.randn(4, 3)
y = torch.randn(4)
w = train(torch.zeros(3), x, y)
""")

mistake("named 2 of 25", "scale: (6,) float32", """
vmap = torch.func.vmap

def one(x, s):
    return (x * s).sum()

def batched(xs, scale):
    return vmap(one, in_dims=(0, 0))(xs, scale)  # <-

def scales(n):
    return torch.linspace(0.0, 1.0, n + 1)

xs = torch.randn(5, 3)
print(batched(xs, scales(5)))
""")

mistake("named 2 of 28", "generator=torch.Generator().manual_seed(self.seed)", """
class AddNoise(nn.Module):
    def __init__(self, sigma, seed):
        super().__init__()
        self.sigma = sigma
        self.seed = seed

    def forward(self, x):
        if not self.training:
            return x
        noise = torch.randn(x.shape, generator=self.seed)  # <-
        return x + self.sigma * noise

net = nn.Sequential(AddNoise(0.1, 42), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
out = net(torch.ones(3, 4))
""")

mistake("named 3 of 01", "compute it outside torch.no_grad()", """
Categorical = torch.distributions.Categorical

class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def act(self, obs):
        with torch.no_grad():
            dist = Categorical(logits=self.net(obs))
            action = dist.sample()
            logp = dist.log_prob(action)
        return action.item(), logp

def rollout(agent, steps):
    logps, rewards = [], []
    obs = torch.zeros(4)
    for t in range(steps):
        a, logp = agent.act(obs)
        obs = obs + torch.tensor([0.1, 0.0, 0.2, -0.1]) * (2 * a - 1)
        logps.append(logp)
        rewards.append(1.0 - obs.abs().sum().item())
    return torch.stack(logps), torch.tensor(rewards)

agent = Agent()
logps, rewards = rollout(agent, 10)
policy_loss = -(logps * rewards.flip(0).cumsum(0).flip(0)).mean()
policy_loss.backward()  # <-
agent.opt.step()
""")

mistake("named 3 of 02", "torch.tensor(returns)", """
def discounted(rewards, gamma=0.9):
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        returns.insert(0, g)
    R = torch.stack(returns)  # <-
    return (R - R.mean()) / (R.std() + 1e-8)

class Baseline(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Linear(3, 1)

    def forward(self, obs):
        return self.v(obs).squeeze(-1)

baseline = Baseline()
obs = torch.randn(5, 3)
adv = discounted([1.0, 0.0, 0.5, 0.0, 2.0]) - baseline(obs)
loss = adv.square().mean()
loss.backward()
""")

mistake("named 3 of 04", "pass fake.detach() where its gradient is not", """
def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.LeakyReLU(0.2), nn.Linear(16, o))

G, D = mlp(2, 4), mlp(4, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()

def d_step(real, fake):
    d_real, d_fake = D(real), D(fake)
    loss = bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))
    opt_d.zero_grad()
    loss.backward()
    return loss

def g_step(fake):
    score = D(fake)
    g_loss = bce(score, torch.ones_like(score))
    opt_g.zero_grad()
    g_loss.backward()  # <-
    opt_g.step()
    return g_loss

real = torch.randn(8, 4)
fake = G(torch.randn(8, 2))
d_step(real, fake)
opt_d.step()
g_step(fake)
""")
