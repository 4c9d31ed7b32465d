"""The fourth sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("gan shared graph", "fake, made there, is part of both graphs: pass fake.detach() to the first", """
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
fake = G(torch.randn(3, 2))
d_loss = D(fake).mean()
d_loss.backward()
g_loss = -D(fake).mean()
g_loss.backward()  # <-
""")

mistake("bptt hidden kept", "graph: cut it with state = tuple(x.detach() for x in state) between steps, or pass", """
rnn = nn.LSTM(3, 4)
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
state = None
for step in range(2):
    out, state = rnn(torch.randn(5, 1, 3), state)
    opt.zero_grad()
    out.sum().backward()  # <-
""")

mistake("meta grad no create", "request: autograd.grad(..., create_graph=True)", """
w = torch.ones(2, requires_grad=True)
loss = (w ** 3).sum()
g, = torch.autograd.grad(loss, w)  # <-
(g ** 2).sum().backward()
""")

mistake("grad wrt nonleaf input", "call requires_grad_() on it before the graph is built, or leave it out of the", """
x = torch.randn(4)
y = nn.Linear(4, 1)(x)
g = torch.autograd.grad(y.sum(), x)  # <-
""")

mistake("retain grad after", "call requires_grad_() on it first, or on what it is computed from", """
x = torch.randn(3)
x.retain_grad()  # <-
""")

mistake("requires grad on nonleaf", "it was computed: use .detach() to get it without its graph, or set", """
x = torch.randn(3, requires_grad=True)
y = x * 2
y.requires_grad = False  # <-
""")

mistake("set grad wrong shape", ".grad a tensor of the same shape, dtype and device, or None", """
p = nn.Parameter(torch.zeros(3))
p.grad = torch.ones(4)  # <-
""")

mistake("clip grad generator typo", "did you mean 'clip_grad_norm_'?", """
m = nn.Linear(2, 2)
torch.nn.utils.clip_grad_nrom_(m.parameters(), 1.0)  # <-
""")

mistake("optimizer attr", "optimizer.param_groups[0][\"lr\"] holds the learning rate", """
opt = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=0.1)
print(opt.lr)  # <-
""")

mistake("optimizer groups typo", "group is a dict with the key \"params\": [{\"params\": model.parameters(), \"lr\":", """
m = nn.Linear(2, 2)
opt = torch.optim.SGD([{"param": m.parameters()}], lr=0.1)  # <-
""")

mistake("duplicate params", "name each parameter in one group", """
m = nn.Linear(2, 2)
opt = torch.optim.SGD([{"params": m.parameters()}, {"params": [m.weight], "lr": 0.01}], lr=0.1)  # <-
""")

mistake("add param group tensor", "a group is a dict: optimizer.add_param_group({\"params\": [tensor], \"lr\": 0.1})", """
m = nn.Linear(2, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.add_param_group(nn.Parameter(torch.ones(1)))  # <-
""")

mistake("lambda lr list", "give one function, or one for each of the optimizer's 1 groups", """
m = nn.Linear(2, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
s = torch.optim.lr_scheduler.LambdaLR(opt, [lambda e: 1.0, lambda e: 0.5])  # <-
""")

mistake("sched step epoch str", "milestones is one int: put it into a list, milestones=[30]", """
m = nn.Linear(2, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
s = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=30)  # <-
""")

mistake("scheduler mode", "mode is 'min' for a loss and 'max' for an accuracy; threshold_mode is 'rel' or", """
opt = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
s = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="minimum")  # <-
""")

mistake("scaler step no backward", "call scaler.scale(loss).backward() before step(): no gradient of this optimizer", """
m = nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
loss = scaler.scale(m(torch.randn(2, 2)).sum())
scaler.step(opt)  # <-
""")

mistake("autocast no device", "give it device_type=...: it is autocast(device_type, dtype=None, enabled=True,", """
with torch.autocast(dtype=torch.bfloat16):  # <-
    pass
""")

mistake("checkpoint kw", "did you mean use_reentrant? It is checkpoint(function, *args,", """
m = nn.Linear(2, 2)
y = torch.utils.checkpoint.checkpoint(m, torch.randn(1, 2), use_reentrent=False)  # <-
""")

mistake("jit trace wrong", "tracing runs the model once: give it an input, torch.jit.trace(model,", """
f = torch.jit.trace(nn.Linear(2, 2))  # <-
""")

mistake("state dict extra head", "'head.weight' is close to 'classifier.weight'; 'head.bias' is close to", """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 2); self.head = nn.Linear(2, 3)
class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 2); self.classifier = nn.Linear(2, 3)
B().load_state_dict(A().state_dict())  # <-
""")

mistake("state dict edit key", "did you mean '0.weight'?", """
sd = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).state_dict()
w = sd["0.wieght"]  # <-
""")

mistake("copy param shape", "shapes are compared from the last dimension, and each pair of sizes must be", """
m = nn.Linear(2, 3)
with torch.no_grad():
    m.weight.copy_(torch.randn(2, 3))  # <-
""")

mistake("load into quantized", "the state is None: look at what was saved under that name;", """
import tempfile; path = tempfile.mkdtemp() + "/m.pt"
torch.save({"model": nn.Linear(2, 2).state_dict(), "lr": [0.1], "opt": None}, path)
ck = torch.load(path)
nn.Linear(2, 2).load_state_dict(ck["opt"])  # <-
""")

mistake("save swapped", "the object comes first, then the file: torch.save(nn.Linear(2, 2).state_dict(),", """
import tempfile; path = tempfile.mkdtemp() + "/m.pt"
torch.save(path, nn.Linear(2, 2).state_dict())  # <-
""")

mistake("deepcopy module nonleaf", "copy it with .detach().clone(), or .clone() to keep its gradient", """
import copy
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3))
        self.scaled = self.w * 2
m2 = copy.deepcopy(M())  # <-
""")

mistake("share weights tie", "wrap it: layer.weight = nn.Parameter(tensor); or change the values with", """
emb, out = nn.Embedding(10, 4), nn.Linear(4, 10)
out.weight = emb  # <-
""")

mistake("init on module", "tensor, not the layer: lin.weight", """
lin = nn.Linear(3, 3)
nn.init.kaiming_normal_(lin)  # <-
""")

mistake("init 1d", "it takes weights of two dimensions or more; for a bias use nn.init.zeros_", """
nn.init.xavier_uniform_(torch.empty(5))  # <-
""")

mistake("apply no fn", "init is called with each module in turn: def init(module), and it asks", """
m = nn.Linear(2, 2)
def init(): nn.init.zeros_(m.weight)
m.apply(init)  # <-
""")

mistake("dropout p", "p is the part that is dropped, between 0 and 1: divide a percentage by 100,", """
d = nn.Dropout(50)  # <-
""")

mistake("layernorm shape", "normalized_shape is that of the last dimensions of the input: make the layer", """
ln = nn.LayerNorm(64)
y = ln(torch.randn(8, 32))  # <-
""")

mistake("batchnorm2d 2d", "BatchNorm1d takes 2D input; for this one give 4D (batch, channels, ...)", """
bn = nn.BatchNorm2d(16)
y = bn(torch.randn(4, 16))  # <-
""")

mistake("groupnorm div", "take a num_groups that divides the number of channels", """
gn = nn.GroupNorm(3, 8)  # <-
""")

mistake("conv groups", "take groups that divide in_channels and out_channels", """
c = nn.Conv2d(3, 8, 3, groups=2)  # <-
""")

mistake("conv1d input 2d channels", "second, and here they are last: permute(0, 2, 1) the input, which gives (8, 16,", """
x = torch.randn(8, 100, 16)
c = nn.Conv1d(16, 32, 3)
y = c(x)  # <-
""")

mistake("linear missing out", "give it out_features=...: it is Linear(in_features, out_features, bias=True,", """
l = nn.Linear(10)  # <-
""")

mistake("linear str", "sizes are int, and one is a str: int(text) makes a number of it", """
l = nn.Linear("10", 5)  # <-
""")

mistake("lstm cell seq", "a cell takes one step, (batch, features): go through the sequence with a for,", """
cell = nn.LSTMCell(4, 8)
h, c = cell(torch.randn(5, 2, 4))  # <-
""")

mistake("gru input size", "dimension of the input must be input_size: make the layer with input_size=9, or", """
g = nn.GRU(8, 16, batch_first=True)
y, h = g(torch.randn(2, 5, 9))  # <-
""")

mistake("lstm h only", "has two states: give it the tuple (h0, c0), or none for zeros", """
l = nn.LSTM(4, 8)
y, _ = l(torch.randn(5, 2, 4), torch.zeros(1, 2, 8))  # <-
""")

mistake("pad packed tensor", "it takes a PackedSequence, and a Tensor came: make one with", """
x = torch.randn(2, 5, 3)
y, n = nn.utils.rnn.pad_packed_sequence(x, batch_first=True)  # <-
""")

mistake("pad sequence dim", "are compared from the last dimension, and each pair of sizes must be equal or", """
xs = [torch.randn(3, 4), torch.randn(2, 5)]
b = nn.utils.rnn.pad_sequence(xs)  # <-
""")

mistake("embeddingbag offsets", "input of one dimension needs offsets=, where each bag begins:", """
b = nn.EmbeddingBag(10, 3)
y = b(torch.tensor([1, 2, 4]))  # <-
""")

mistake("pixel shuffle", "give it channels that upscale_factor ** 2 divides, or take another", """
y = nn.PixelShuffle(2)(torch.randn(1, 6, 4, 4))  # <-
""")

mistake("upsample none", "pass one of them: size=(height, width), or scale_factor=2", """
y = nn.Upsample()(torch.randn(1, 1, 4, 4))  # <-
""")

mistake("reflect pad big", "padding is given from the last dimension: (left, right, top, bottom, ...), less", """
y = F.pad(torch.randn(1, 1, 4), (5, 5), mode="reflect")  # <-
""")

mistake("unfold 4d", "dim goes from -2 to 1 for this tensor: negative ones count from the end", """
u = nn.Unfold(3)(torch.randn(8, 8))  # <-
""")

mistake("maxunpool indices", "arguments to forward(input, indices, output_size=None): give it these", """
p = nn.MaxPool2d(2, return_indices=True)
y = nn.MaxUnpool2d(2)(p(torch.randn(1, 1, 4, 4)))  # <-
""")

mistake("sampler shuffle", "leave shuffle=True away: the sampler says the order", """
ds = torch.utils.data.TensorDataset(torch.randn(4, 1))
s = torch.utils.data.RandomSampler(ds)
dl = torch.utils.data.DataLoader(ds, sampler=s, shuffle=True)  # <-
""")

mistake("weighted sampler", "num_samples is an int of 1 or more: int(4.0), or len(dataset)", """
s = torch.utils.data.WeightedRandomSampler(torch.ones(4), num_samples=4.0)  # <-
""")

mistake("loader next", "for batch in dl, or next(iter(dl)) for the first batch", """
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4, 1)))
x = next(dl)  # <-
""")

mistake("loader index", "DataLoader is walked through: for batch in dl, or next(iter(dl)) for the first", """
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4, 1)))
x = dl[0]  # <-
""")

mistake("unpack loader three", "enumerate gives a number and a batch: for i, (x, y) in enumerate(dl)", """
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4, 1), torch.zeros(4)))
for i, x, y in enumerate(dl):  # <-
    pass
""")

mistake("collate dict missing key", "sample of the batch has the key 'y', and another one has not: return the same", """
class D(torch.utils.data.Dataset):
    def __len__(self): return 2
    def __getitem__(self, i): return {"x": 1.0, "y": 2} if i == 0 else {"x": 1.0}
next(iter(torch.utils.data.DataLoader(D(), batch_size=2)))  # <-
""")

mistake("getitem tensor list", "[self.files[j] for j in i.tolist()] takes one for each", """
class D(torch.utils.data.Dataset):
    def __init__(self): self.files = ["a", "b", "c"]
    def __len__(self): return 3
    def __getitem__(self, i): return self.files[i]
idx = torch.tensor([0, 2])
print(D()[idx])  # <-
""")

mistake("categorical logprob shape", "the value must have the shape of the distribution, or one that broadcasts to", """
d = torch.distributions.Categorical(logits=torch.randn(4, 3))
lp = d.log_prob(torch.tensor([0, 1, 2]))  # <-
""")

mistake("bernoulli both", "pass one of them: probs=, or logits= for scores that were not normalised", """
d = torch.distributions.Bernoulli(probs=torch.tensor(0.5), logits=torch.tensor(0.0))  # <-
""")

mistake("multinomial neg", "probabilities are 0 or more, and not all 0: softmax the scores first", """
i = torch.multinomial(torch.tensor([0.1, -0.2, 0.5]), 1)  # <-
""")

mistake("kl none", "estimate it from samples: x = p.sample((1000,)), (p.log_prob(x) -", """
p = torch.distributions.Normal(0., 1.); q = torch.distributions.Cauchy(0., 1.)
k = torch.distributions.kl_divergence(q, p)  # <-
""")
