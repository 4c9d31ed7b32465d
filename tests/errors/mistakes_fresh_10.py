"""Mistakes of ordinary programs, written before anybody looked at what claygrad says of them: those where it said too
little at first.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("fake of a GAN in both losses", "fake, made there, is part of both graphs: pass fake.detach() to the first", """
G, D = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
bce = nn.BCEWithLogitsLoss()
def train_step(real):
    fake = G(torch.randn(4, 3)).tanh()  # <-
    d_loss = bce(D(real), torch.ones(4, 1)) + bce(D(fake), torch.zeros(4, 1))
    d_loss.backward()  # <-
    g_loss = bce(D(fake), torch.ones(4, 1))  # <-
    g_loss.backward()  # <-
train_step(torch.randn(4, 2))
""")

mistake("hidden state given by the step before", "cut it with h = h.detach() between steps", """
gru, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 3)
def train(chunks):
    h = torch.zeros(1, 2, 4)
    for chunk in chunks:
        out, h = gru(chunk, h)  # <-
        loss = (head(out) - chunk).square().mean()
        loss.backward()  # <-
train(torch.randn(3, 2, 5, 3))
""")

mistake("sequences of several lengths in a worker", "it is Sentences[1], returned at", """
class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        tokens = torch.arange(3 + i % 2)
        return tokens, i % 2  # <-
for tokens, label in torch.utils.data.DataLoader(Sentences(), batch_size=4, num_workers=1, multiprocessing_context="fork"):  # <-
    pass
""")

mistake("an image that could not be read, in a subset", "it is Images[1], returned at", """
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        image = None if i == 1 else torch.rand(3, 4, 4)
        return {"image": image, "name": str(i)}  # <-
half = torch.utils.data.Subset(Images(), [0, 1])
for batch in torch.utils.data.DataLoader(half, batch_size=2):  # <-
    pass
""")

mistake("column of a float table as indices", "of pairs, given at", """
class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(3, 4)
    def forward(self, pairs):
        return self.user(pairs[:, 0]).sum(1)  # <-
data = torch.from_numpy(np.array([[0, 1, 4.0], [1, 2, 3.5]])).float()  # <-
Recommender()(data[:, :2])
""")

mistake("all parameters frozen before the filter", "none of the 4 parameters of model requires grad, so none is left", """
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 5))
for p in model.parameters():
    p.requires_grad = False  # <-
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)  # <-
""")

mistake("a new tensor instead of an update", "w is another tensor since", """
w = torch.randn(1, requires_grad=True)
for step in range(2):
    ((w * 3 - 1) ** 2).mean().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad  # <-
    w.grad.zero_()  # <-
""")

mistake("mean by NumPy of losses with graphs", "keep numbers, losses.append(loss.item())", """
model, losses = nn.Linear(3, 1), []
for i in range(4):
    loss = model(torch.randn(5, 3)).pow(2).mean()
    loss.backward()
    losses.append(loss)  # <-
print("mean loss", np.mean(losses))  # <-
""")

mistake("attribute with another name", "did you mean conv2", """
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv2 = nn.Conv2d(1, 6, 5)
    def forward(self, x):
        return self.conv_2(x)  # <-
LeNet()(torch.randn(1, 1, 28, 28))
""")

mistake("skip connection of an odd image", "F.pad(self.up(low), (0, 1, 0, 1)) is (1, 4, 25, 25)", """
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
    def forward(self, x):
        skip = self.down1(x)
        low = self.down2(F.max_pool2d(skip, 2))
        return torch.cat([skip, self.up(low)], dim=1)  # <-
UNet()(torch.randn(1, 1, 25, 25))
""")

mistake("residual of other channels", "nn.Conv2d(8, 16, kernel_size=1)", """
class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, 1, 1)
    def forward(self, x):
        out = self.conv(x)
        out += x  # <-
        return out
nn.Sequential(Block(8, 8), Block(8, 16))(torch.randn(1, 8, 6, 6))
""")

mistake("smallest of a list of tensors", "min() compares the tensors in history with each other", """
history = [torch.rand(4), torch.rand(4)]
if torch.rand(4).mean() > min(history):  # <-
    print("stop")
""")

mistake("instance of a function called", "call its apply: Sign.apply(w), with static", """
class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()
    @staticmethod
    def backward(ctx, g):
        return g
w, binarize = torch.randn(4, requires_grad=True), Sign()
out = binarize(w).sum()  # <-
""")

mistake("hook that returns a number", "a hook returns None, or a tensor", """
grads = {}
def save_norm(name):
    def hook(grad):
        grads[name] = grad.norm()
        return grad.norm().item()  # <-
    return hook
model = nn.Linear(4, 1)
for name, p in model.named_parameters():
    p.register_hook(save_norm(name))
model(torch.randn(3, 4)).mean().backward()  # <-
""")

mistake("a batch that is not taken apart", "and one list of 2 came: take it apart, model(*batch)", """
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 3)
    def forward(self, left, right):
        return (self.embed(left) - self.embed(right)).norm(dim=1)
model = Siamese()
for batch in torch.utils.data.DataLoader([(torch.randn(6), torch.randn(6)) for _ in range(4)], batch_size=2):
    model(batch)  # <-
""")

mistake("values and indices from a layer", "max() returns 2 tensors, values and indices: model[1], Pool, returned it", """
class Pool(nn.Module):
    def forward(self, x):
        return x.max(dim=1)  # <-
model = nn.Sequential(nn.Linear(5, 8), Pool(), nn.Linear(8, 2))
model(torch.randn(3, 7, 5))  # <-
""")

mistake("table with a column of text", "leave such columns out, or map them to numbers", """
table = np.array([[31, "a"], [45, "b"]], dtype=object)
X = torch.tensor(table)  # <-
""")

mistake("function with another name", "log_softmax", """
entropy = -F.log_softmx(torch.randn(3, 4), dim=1)  # <-
""")

mistake("average of weights that require grad, copied", "Change it under no_grad()", """
import copy
class EMA:
    def __init__(self, model):
        self.model = copy.deepcopy(model)
    def update(self, model):
        for ema, p in zip(self.model.parameters(), model.parameters()):
            ema.mul_(0.99)  # <-
model = nn.Linear(3, 3)
EMA(model).update(model)
""")

mistake("weight assigned in forward", "give what forward computes from it a name of its own, weight = ...", """
class Normalised(nn.Linear):
    def forward(self, x):
        self.weight = self.weight / self.weight.norm(dim=1, keepdim=True)  # <-
        return super().forward(x)
Normalised(4, 4)(torch.randn(2, 4))
""")

mistake("state_dict without brackets", "a.state_dict is a method: call it, a.state_dict()", """
a, b = nn.Linear(2, 3), nn.Linear(2, 3)
b.load_state_dict(a.state_dict)  # <-
""")

mistake("quantile of counts", "it takes floating numbers: cast with .float() (here x", """
x = torch.randint(0, 100, (50,))
lo = torch.quantile(x, 0.05)  # <-
""")

mistake("images of a generator with other channels", "such as (-1, 128, 7, 7), which keeps the 5 samples of 6272", """
fc = nn.Linear(10, 128 * 7 * 7)
h = fc(torch.randn(5, 10)).view(-1, 256, 7, 7)  # <-
""")

mistake("two names for batches of one", "which holds what its __getitem__ returns at", """
class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        return torch.tensor(float(i))  # <-
loader = torch.utils.data.DataLoader(Squares(), batch_size=4)
for x, y in loader:  # <-
    pass
""")

mistake("two heads of different widths", "the 3 of eps * std come from logvar: Linear(in_features=8, out_features=3", """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.logvar = nn.Linear(8, 4), nn.Linear(8, 3)  # <-
    def sample(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std  # <-
    def forward(self, h):
        return self.sample(self.mu(h), self.logvar(h))
VAE()(torch.randn(5, 8))
""")

mistake("image features beside a vector", "self.image(img).flatten(1) is (2, 8)", """
class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1))
    def forward(self, img, meta):
        return torch.cat((self.image(img), meta), dim=1)  # <-
Fusion()(torch.randn(2, 3, 8, 8), torch.randn(2, 5))
""")

mistake("squeeze of a batch of one", "squeeze() takes every dimension of size 1 away, that of a batch of one too", """
layer = nn.Linear(4, 6)
def pair(x):
    h = layer(x).squeeze()  # <-
    return h.unsqueeze(2)  # <-
pair(torch.randn(3, 4))
pair(torch.randn(1, 4))
""")

mistake("probabilities of NaN", "the values are NaN, so they were spoilt before", """
net = nn.Linear(3, 2)
s = torch.tensor([[1.0, 2.0, float("nan")]])
torch.distributions.Categorical(probs=net(s))  # <-
""")

mistake("normalisation for colours of a grey image", "here there is 1 channel: give it 1 value, or images of 3", """
images = torch.rand(8, 1, 4, 4)
out = images[0] - torch.tensor([0.5, 0.5, 0.5])  # <-
""")

mistake("data where the loss is made, without names", "the data comes in a second call: nn.CrossEntropyLoss()", """
loss = nn.CrossEntropyLoss(torch.randn(4, 3), torch.tensor([0, 1, 2, 0]))  # <-
""")

mistake("class weights of another number", "weight has one number for every class", """
counts = torch.tensor([100., 20., 5.])
criterion = nn.CrossEntropyLoss(weight=counts.sum() / counts)  # <-
loss = criterion(nn.Linear(8, 4)(torch.randn(6, 8)), torch.randint(0, 4, (6,)))  # <-
""")

mistake("class weights of another number, kept by a trainer", "weight has one number for every class", """
class Trainer:
    def __init__(self):
        self.criterion = nn.CrossEntropyLoss(weight=torch.ones(3))  # <-
    def step(self, logits, y):
        return self.criterion(logits, y)  # <-
Trainer().step(torch.randn(6, 4), torch.zeros(6, dtype=torch.long))
""")

mistake("positions for shorter inputs", "self.pos was made for 5 in dimension -2, and x has 10", """
class ViT(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.pos = nn.Parameter(torch.zeros(1, 5, d))  # <-
    def forward(self, x):
        return x + self.pos  # <-
ViT()(torch.randn(2, 10, 8))
""")

mistake("model on the meta device", 'give it memory with model.to_empty(device="cpu")', """
with torch.device("meta"):
    model = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 1))  # <-
out = model(torch.randn(2, 4))  # <-
""")

mistake("copy of a module that keeps its last result", "m.last is a result with its graph, which cannot be copied", """
import copy
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(3, 3)
        self.last = None
    def forward(self, x):
        self.last = self.key(x)  # <-
        return self.last.sum()
m = Memory()
m(torch.randn(2, 3)).backward()
best = copy.deepcopy(m)  # <-
""")

mistake("one image without a batch", "4 * 36 is in_features=144, so all of the input is one sample", """
cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
image = torch.rand(1, 8, 8)
print(cnn(image).argmax(1))  # <-
""")

mistake("widths of a prediction and a target", "the 2 of net(a) come from Linear(in_features=6, out_features=2", """
net = nn.Linear(6, 2)  # <-
loss_fn = nn.SmoothL1Loss()
losses = [loss_fn(net(a), b) for a, b in [(torch.randn(3, 6), torch.randn(3, 3))]]  # <-
""")

mistake("several labels at once in a cross-entropy", "the loss is binary_cross_entropy_with_logits(scores, target", """
targets = torch.tensor([[1, 1, 0], [0, 0, 0], [1, 0, 1]])
loss = F.cross_entropy(nn.Linear(4, 3)(torch.randn(3, 4)), targets)  # <-
""")

mistake("backward in a helper and in the loop", "it was the same graph: call backward() once for each computation", """
def log_grad_norm(loss, model):
    loss.backward()  # <-
    return sum(p.grad.norm() for p in model.parameters())
model = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.Linear(3, 1))
for i in range(2):
    loss = model(torch.randn(4, 3)).pow(2).mean()  # <-
    norm = log_grad_norm(loss, model)
    loss.backward()  # <-
""")

mistake("parameter of a number", "a parameter is made of a tensor: nn.Parameter(torch.tensor(1.0))", """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(1.0)  # <-
Scaled()
""")

mistake("product of an integer and a float batch", "make them one dtype: adj.float(), as feats holds floats", """
adj, feats = torch.randint(0, 2, (3, 5, 5)), torch.randn(3, 5, 8)
msg = torch.bmm(adj, feats)  # <-
""")

mistake("rows added by an index of one dimension", "out.index_add(0, dst, messages) adds whole rows", """
messages, dst = torch.randn(7, 4), torch.randint(0, 3, (7,))
out = torch.zeros(3, messages.size(1))
out = out.scatter_add(0, dst, messages)  # <-
""")

mistake("state of a GRU taken for that of an LSTM", "only LSTM has a pair, (h, c)", """
rnn = nn.GRU(4, 8, batch_first=True)
out, (h, c) = rnn(torch.randn(2, 5, 4))  # <-
""")

mistake("indices of a pooling that returns none", "make it with return_indices=True", """
class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
    def forward(self, x):
        y, idx = self.pool(x)  # <-
        return y
AE()(torch.randn(1, 1, 4, 4))
""")

mistake("mask of another length", "(..., query length, key length) = (..., 6, 6), and mask is (5, 5)", """
q = k = v = torch.randn(2, 4, 6, 8)
mask = torch.tril(torch.ones(5, 5, dtype=torch.bool))  # <-
F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # <-
""")

mistake("negative number of samples", "num_samples is an int of 1 or more, such as len(dataset), and -1 came", """
weights = torch.ones(3)
sampler = torch.utils.data.WeightedRandomSampler(weights, num_samples=-1)  # <-
""")
