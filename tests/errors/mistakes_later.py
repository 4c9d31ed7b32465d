"""Mistakes that were tried after the others, and what they taught. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("accuracy with item of many", r'x\.sum\(\)\.item\(\), x\.mean\(\)\.item\(\); tolist\(\) gives all', """
pred = torch.randn(4, 3).argmax(1); y = torch.tensor([0, 1, 2, 0])
correct = (pred == y).item()  # <-
""")

mistake("loss.backward() on model output with no reduction", r'reduce it', """
out = nn.Linear(3, 2)(torch.randn(4, 3))
out.backward()  # <-
""")

mistake("labels one dimension too many in bce logits", r'torch\.ones\(4, 1\)\.squeeze\(1\), or torch\.randn\(4\)\.unsqueeze\(1\)', """
F.binary_cross_entropy_with_logits(torch.randn(4), torch.ones(4, 1))  # <-
""")

mistake("gru output unpack three", r'2 came\. LSTM returns output, \(h, c\), other recurrent layers', """
out, h, c = nn.GRU(3, 4)(torch.randn(5, 2, 3))  # <-
""")

mistake("lstm unpack hidden wrong", r'2 came\. LSTM returns output, \(h, c\), other recurrent layers', """
out, h, c = nn.LSTM(3, 4)(torch.randn(5, 2, 3))  # <-
""")

mistake("positional encoding broadcasting", r'where they go together, take the same part, pe\[:20\]; or', """
pe = torch.randn(100, 16)
x = torch.randn(8, 20, 16)
x = x + pe  # <-
""")

mistake("vit reshape", r'no single size would mend it', """
x = torch.randn(2, 3, 30, 30)
p = x.view(2, 3, 4, 8, 4, 8)  # <-
""")

mistake("batchnorm1d on sequences", r'make BatchNorm1d with num_features=20, or give it 16', """
nn.BatchNorm1d(16)(torch.randn(4, 20, 16))  # <-
""")

mistake("conv expects batch", r'unsqueeze\(1\) adds a dimension for one channel, unsqueeze\(0\)', """
nn.Conv1d(3, 4, 3)(torch.randn(10))  # <-
""")

mistake("maxpool kernel type", r'kernel_size must be tuple of ints; int\(n\), or // instead of', """
nn.MaxPool2d("2")(torch.randn(1, 1, 4, 4))  # <-
""")

mistake("optimizer zero_grad on loss", r'use optimizer\.zero_grad\(\)', """
loss = torch.ones(1, requires_grad=True).sum()
loss.zero_grad()  # <-
""")

mistake("model.parameters in sgd lr missing type", r'float\(value\), or int\(value\)', """
torch.optim.SGD(nn.Linear(1, 1).parameters(), lr="0.1")  # <-
""")

mistake("optimizer given list of lists", r'a\.parameters\(\)\}, \.\.\.\]', """
a, b = nn.Linear(1, 1), nn.Linear(1, 1)
torch.optim.Adam([a.parameters(), b.parameters()])  # <-
""")

mistake("optimizer groups wrong key", r'each group is a dict with the key "params": \[\{"params":', """
torch.optim.Adam([{"param": nn.Linear(1, 1).parameters()}])  # <-
""")

mistake("scheduler passed lr", r'it is StepLR\(optimizer, step_size, gamma=0\.1, last_epoch=\-1\)', """
opt = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)
torch.optim.lr_scheduler.StepLR(opt)  # <-
""")

mistake("scheduler get lr attr", r'a scheduler has step\(\), get_last_lr\(\) and state_dict\(\)', """
opt = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)
s = torch.optim.lr_scheduler.StepLR(opt, 3)
print(s.lr)  # <-
""")

mistake("dict batch attr", r"batch is a dict: batch\['x'\]", """
batch = {"x": torch.ones(2), "y": torch.ones(2)}
batch.x  # <-
""")

mistake("strings of a batch moved to a device", r'v\.to\(\.\.\.\) if torch\.is_tensor\(v\) else v', """
loader = torch.utils.data.DataLoader([{"x": torch.ones(2), "name": "a"}])
for b in loader:
    b = {k: v.to("cpu") for k, v in b.items()}  # <-
""")

mistake("dataset index error", r'indices of dimension 0 go from \-3 to 2, that is 0 to 2 from', """
class D(torch.utils.data.Dataset):
    def __init__(self): self.x = torch.ones(3, 2)
    def __len__(self): return 5
    def __getitem__(self, i): return self.x[i]  # <-
for b in torch.utils.data.DataLoader(D()): pass
""")

mistake("getitem missing self attr", r'assign self\.x in its __init__', """
class D(torch.utils.data.Dataset):
    def __len__(self): return 5
    def __getitem__(self, i): return self.x[i]  # <-
for b in torch.utils.data.DataLoader(D()): pass
""")

mistake("embedding given list", r'torch\.stack\(list\) of tensors, torch\.tensor\(list\) of numbers', """
nn.Embedding(3, 2)([0, 1])  # <-
""")

mistake("embedding too large in lstm model", r'12 came; make the table larger, or mend the indices \(a', """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 4); self.l = nn.LSTM(4, 5)
    def forward(self, x): return self.l(self.e(x))[0]  # <-
N()(torch.tensor([[3, 12]]))
""")

mistake("forgot to return in custom function forward", r'what is called there has no return \(forward\(\) of the model,', """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): x * 2
    @staticmethod
    def backward(ctx, g): return g
Fn.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <-
""")

mistake("saved tensors used without saving", r'count the tensors there', """
class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors  # <-
        return g * x
Fn.apply(torch.ones(2, requires_grad=True)).sum().backward()
""")

mistake("grad of list without scalar", r'x = torch\.ones\(2, requires_grad=True\)', """
x = torch.ones(2, requires_grad=True)
torch.autograd.grad([x * 2, x * 3], x)  # <-
""")

mistake("in-place relu then add leaf", r'x = torch\.randn\(3, requires_grad=True\)', """
x = torch.randn(3, requires_grad=True)
F.relu_(x)  # <-
""")

mistake("index put on leaf", r'w = nn\.Parameter\(torch\.zeros\(3\)\)', """
w = nn.Parameter(torch.zeros(3))
w[0] = 1.0  # <-
""")

mistake("expand then in place", r'clone\(\) it first', """
x = torch.zeros(3, 1).expand(3, 4)
x += 1  # <-
""")

mistake("numpy conversion of grad tensor via array", r'gradients do not flow through NumPy', """
w = torch.ones(2, requires_grad=True)
np.array(w)  # <-
""")

mistake("numpy float64 model", r'cast the input with \.float\(\), or the layer with', """
x = torch.from_numpy(np.random.rand(4, 3))
nn.Linear(3, 2)(x)  # <-
""")

mistake("np int as size float", r'size must be tuple of ints; int\(n\), or // instead of /,', """
n = np.float64(3)
torch.zeros(n)  # <-
""")

mistake("cross entropy class probs wrong shape", r'the target is \(4, 2\)', """
F.cross_entropy(torch.randn(4, 3), torch.rand(4, 2))  # <-
""")

mistake("stack of different dtype ok cat device", r'x\.to\(y\.device\); a model with model\.to\(device\), and every', """
torch.cat([torch.ones(2), torch.ones(2, device="meta")])  # <-
""")

mistake("where scalar conditions", r'where they go together, take the same part, \(torch\.ones\(3\) > 0\)\[:2\]', """
torch.where(torch.ones(3) > 0, torch.ones(2), torch.ones(4))  # <-
""")

mistake("boolean mask assignment wrong count", r'the value must have the shape \(2\), or one that broadcasts', """
x = torch.zeros(4)
x[torch.tensor([True, False, True, False])] = torch.ones(3)  # <-
""")

mistake("matmul vector wrong", r'slice or pad one of them; torch\.outer\(a, b\) multiplies', """
torch.ones(3) @ torch.ones(4)  # <-
""")

mistake("triu on 1d", r'unsqueeze\(0\) adds one in front, unsqueeze\(\-1\) one behind', """
torch.triu(torch.ones(3))  # <-
""")

mistake("mask generation wrong call", r'size must be tuple of ints; int\(n\), or // instead of /,', """
nn.Transformer.generate_square_subsequent_mask("5")  # <-
""")

mistake("load_state_dict missing prefix in submodule", r'v for k, v in state\.items\(\)\}, or load it into the model', """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
N().load_state_dict(nn.Linear(2, 2).state_dict())  # <-
""")

mistake("load strict with None", r'model\.load_state_dict\(torch\.load\(path\)\)', """
nn.Linear(2, 2).load_state_dict(None)  # <-
""")

mistake("save whole closure", r'move it to the top of a file, or save model\.state_dict\(\)', """
import tempfile
torch.save(lambda x: x, tempfile.mkdtemp() + "/a.pt")  # <-
""")

mistake("deepcopy of nonleaf module attribute", "l.cache is a result with its graph, which cannot be copied", """
import copy
w = torch.ones(2, requires_grad=True)
l = nn.Linear(2, 2); l.cache = w * 2
copy.deepcopy(l)  # <-
""")

mistake("moving to device string typo", r'devices are named "cpu", "cuda", "cuda:0", "meta" \.\.\.:', """
torch.ones(2).to("gpu")  # <-
""")

mistake("torch.Tensor of mixed", r'a number stands where a list should', """
torch.Tensor([[1, 2], 3])  # <-
""")

mistake("mean of list", r'torch\.stack\(list\) of tensors, torch\.tensor\(list\) of numbers', """
losses = [torch.tensor(1.0), torch.tensor(2.0)]
torch.mean(losses)  # <-
""")

mistake("sum over dim name", r'dim must be tuple of ints; int\(n\), or // instead of /,', """
torch.ones(2, 3).sum(dim="rows")  # <-
""")

mistake("size typo call", r'name 2 sizes before =, or \*rest for several', """
x = torch.ones(2, 3)
batch, channels, height = x.shape  # <-
""")

mistake("global avg pool then linear", r'make the layer with in_features=1, or flatten\(1\) the input,', """
m = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 2))
m(torch.randn(1, 3, 8, 8))  # <-
""")

mistake("unflatten wrong", r'correct one of them, or write \-1 for the one that is to be', """
nn.Unflatten(1, (2, 5))(torch.randn(4, 12))  # <-
""")

mistake("rnn cell given sequence", r'go through the sequence with a for, or use nn\.LSTM, which', """
nn.LSTMCell(3, 4)(torch.randn(5, 2, 3))  # <-
""")

mistake("attention need weights heads", r'take num_heads=1 or 2, or embed_dim=12', """
nn.MultiheadAttention(10, 3)  # <-
""")

mistake("attention batch mismatch", r'batch_first=True says where the batch is', """
a = nn.MultiheadAttention(8, 2, batch_first=True)
a(torch.randn(2, 5, 8), torch.randn(3, 5, 8), torch.randn(3, 5, 8))  # <-
""")

mistake("instance norm small", r'give it larger images, or leave the normalisation out here', """
nn.InstanceNorm2d(3)(torch.randn(2, 3, 1, 1))  # <-
""")

mistake("dropout functional p", r"between 0 and 1: divide a percentage by 100", """
F.dropout(torch.ones(3), p=1.5)  # <-
""")

mistake("weighted sampler", r'look at its __len__ and its files', """
torch.utils.data.WeightedRandomSampler([0.1, 0.9], num_samples=0)  # <-
""")

mistake("subset index", r'indices of dimension 0 go from \-3 to 2, that is 0 to 2 from', """
d = torch.utils.data.TensorDataset(torch.ones(3))
torch.utils.data.Subset(d, [5])[0]  # <-
""")

mistake("name error", r'from torch\.nn import Linear', """
model = Linear(2, 3)  # <-
""")

mistake("model undefined attr in forward", r'did you mean conv1\?', """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3)
    def forward(self, x): return self.conv2(x)  # <-
N()(torch.ones(1, 1, 5, 5))
""")

mistake("self missing in forward", r'it is an attribute of the module: self\.fc', """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x): return fc(x)  # <-
N()(torch.ones(1, 2))
""")

mistake("mse swapped none", r'call it with the data first, model\(x\), or take its', """
model = nn.Linear(2, 1)
loss = nn.MSELoss()(model, torch.ones(1))  # <-
""")

mistake("criterion of tuple", r'recurrent layers return \(output, hidden\), so write out,', """
out = nn.LSTM(2, 2)(torch.randn(3, 1, 2))
F.mse_loss(out, torch.randn(3, 1, 2))  # <-
""")

mistake("Sequential index", r'the container has 1 modules, 0 to 0', """
s = nn.Sequential(nn.Linear(2, 2))
s[3](torch.ones(1, 2))  # <-
""")

mistake("ModuleDict key", r"it has 'a'", """
d = nn.ModuleDict({"a": nn.Linear(2, 2)})
d["b"](torch.ones(1, 2))  # <-
""")

mistake("conv padding string", r"what is given must be one of \{'same', 'valid'\}; it is", """
nn.Conv2d(1, 1, 3, padding="SAME")  # <-
""")

mistake("conv same stride", r'kernel_size // 2', """
nn.Conv2d(1, 1, 3, padding="same", stride=2)  # <-
""")

mistake("conv negative kernel out", r'earlier layers may have made it too small', """
nn.Conv2d(1, 1, 5)(torch.randn(1, 1, 3, 3))  # <-
""")

mistake("avgpool flat", r'negative ones count from the end', """
F.avg_pool2d(torch.randn(4, 10), 2)  # <-
""")

mistake("view after conv batch fixed", r'correct one of the sizes', """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 4, 3); self.f = nn.Linear(4 * 26 * 26, 10)
    def forward(self, x):
        return self.f(self.c(x).view(-1, 4 * 24 * 24))  # <-
N()(torch.randn(3, 1, 28, 28))
""")

mistake("embedding_bag offsets", r'torch\.tensor\(\[0\]\); input \(bags, length\) needs none', """
nn.EmbeddingBag(10, 3)(torch.tensor([1, 2, 3]))  # <-
""")

mistake("cosine sim dims", r'where they go together, take the same part, torch\.randn\(3,', """
F.cosine_similarity(torch.randn(3, 4), torch.randn(3, 5))  # <-
""")

mistake("softmax no dim name", r'it is softmax\(input, dim, dtype=None\)', """
torch.softmax(torch.randn(3))  # <-
""")

mistake("log_softmax axis str", r'dim must be int; int\(n\), or // instead of /, makes an int\.', """
F.log_softmax(torch.randn(3), dim="last")  # <-
""")

mistake("clamp none", r'pass min=, max= or both: x\.clamp\(min=0\)', """
torch.randn(3).clamp()  # <-
""")

mistake("split size zero", r'here split_size=0; it is split\(input, split_size, dim=0\)', """
torch.arange(4).split(0)  # <-
""")

mistake("unsqueeze dim", r'negative ones count from the end', """
torch.ones(3).unsqueeze(4)  # <-
""")

mistake("squeeze expects", r'negative ones count from the end', """
torch.ones(3, 1).squeeze(3)  # <-
""")

mistake("gather dims", r'negative ones count from the end', """
torch.ones(3, 4).gather(2, torch.zeros(3, 1, dtype=torch.long))  # <-
""")

mistake("index list too long", r'indices of dimension 0 go from \-3 to 2, that is 0 to 2 from', """
torch.ones(3)[[0, 5]]  # <-
""")

mistake("slice step negative", r'reverse with x\.flip\(0\)', """
torch.arange(5)[::-1]  # <-
""")

mistake("tensor keyword axis", r'did you mean dim\? It is argmax\(input, dim=None,', """
torch.ones(3).argmax(axs=0)  # <-
""")

mistake("register hook typo", r'did you mean register_forward_hook or', """
nn.Linear(2, 2).register_forwardhook(print)  # <-
""")

mistake("to dtype string", r'devices are named "cpu", "cuda", "cuda:0", "meta" \.\.\.:', """
torch.ones(2).to("float16x")  # <-
""")

mistake("tensor as bool in assert", r'\(x > 0\)\.any\(\) or \(x > 0\)\.all\(\); \& and \| instead of `and`', """
assert torch.tensor([True, False])  # <-
""")

mistake("max python builtin", r'torch\.maximum\(torch\.ones\(2, 2\), torch\.zeros\(2, 2\)\)', """
max(torch.ones(2, 2), torch.zeros(2, 2))  # <-
""")

mistake("sum builtin of dict", r'sum\(loss\.values\(\)\)', """
loss = {"a": torch.ones(1)}
sum(loss)  # <-
""")

mistake("loss plus None", r'give it a value before this line', """
aux = None
loss = torch.ones(1) + 0.1 * aux  # <-
""")

mistake("iterate model output none", r'collate_fn, or __getitem__ of the dataset, has no return', """
def collate(b): pass
for x, y in torch.utils.data.DataLoader([(1, 2)], collate_fn=collate): pass  # <-
""")

mistake("collate fn wrong args", r'def collate_fn\(samples\)', """
def collate(x, y): return x
for b in torch.utils.data.DataLoader([(1, 2)], collate_fn=collate): pass  # <-
""")

mistake("iterable with shuffle", r'an IterableDataset gives its samples in its own order;', """
class I(torch.utils.data.IterableDataset):
    def __iter__(self): yield 1
torch.utils.data.DataLoader(I(), shuffle=True)  # <-
""")

mistake("batch size float", r'int\(n\), or // instead of /, makes one; None for no batches', """
torch.utils.data.DataLoader([1, 2], batch_size=2.5)  # <-
""")

mistake("load map location", r'torch\.load\(path, map_location="cpu"\)', """
import tempfile
p = tempfile.mkdtemp() + "/m.pt"
torch.save(nn.Linear(2, 2).state_dict(), p)
nn.Linear(3, 2).load_state_dict(torch.load(p, map_location="gpu"))  # <-
""")

mistake("state dict optim into model", r'give the model its own, model\.load_state_dict\(\.\.\.\), and the', """
model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters())
model.load_state_dict(opt.state_dict())  # <-
""")

mistake("model state into optim", r'save optimizer\.state_dict\(\) beside model\.state_dict\(\), and', """
model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters())
opt.load_state_dict(model.state_dict())  # <-
""")

mistake("freeze wrong", r'write True or False, without quotes', """
model = nn.Linear(2, 2)
for p in model.parameters(): p.requires_grad = "False"  # <-
""")

mistake("all frozen", r'call requires_grad_\(\) on the parameters \(or pass', """
model = nn.Linear(2, 2)
for p in model.parameters(): p.requires_grad = False
model(torch.ones(1, 2)).sum().backward()  # <-
""")

mistake("grad penalty no graph", r'x = torch\.randn\(3, 2\)', """
d = nn.Linear(2, 1)
x = torch.randn(3, 2)
out = d(x)
torch.autograd.grad(out.sum(), x)  # <-
""")

mistake("gan backward twice", "fake, made there, is part of both graphs: pass fake.detach", """
g, d = nn.Linear(2, 2), nn.Linear(2, 1)
fake = g(torch.randn(3, 2))
lossd = d(fake).mean()
lossd.backward()
lossg = -d(fake).mean()
lossg.backward()  # <-
""")

mistake("rnn loop backward", r'cut it with h = h\.detach\(\) between steps, or pass', """
rnn = nn.RNNCell(2, 3)
h = torch.zeros(1, 3)
for t in range(3):
    h = rnn(torch.randn(1, 2), h)
    h.sum().backward()  # <-
""")

mistake("jacobian nonscalar fn", r'must be either a Tensor or a tuple of', """
torch.autograd.functional.jacobian(lambda x: 3.0, torch.ones(2))  # <-
""")

mistake("hessian vector", r'\.sum\(\) or \.mean\(\) \(vjp, jacrev and jacobian take functions', """
torch.autograd.functional.hessian(lambda x: x * 2, torch.ones(2))  # <-
""")

mistake("func grad nonscalar", r'\.sum\(\) or \.mean\(\) \(vjp, jacrev and jacobian take functions', """
torch.func.grad(lambda x: x * 2)(torch.ones(2))  # <-
""")

mistake("bernoulli p", r'torch\.sigmoid\(scores\) first, or clamp\(0, 1\)', """
torch.bernoulli(torch.tensor([2.0]))  # <-
""")

mistake("categorical dims", r'unsqueeze\(0\) adds one in front, unsqueeze\(\-1\) one behind', """
torch.distributions.Categorical(torch.tensor(0.5))  # <-
""")

mistake("kl unsupported", r'x = p\.sample\(\(1000,\)\), \(p\.log_prob\(x\) \-', """
D = torch.distributions
D.kl_divergence(D.Normal(0., 1.), D.Cauchy(0., 1.))  # <-
""")

mistake("spectral norm wrong name", r'choose a layer with parameters', """
nn.utils.spectral_norm(nn.ReLU())  # <-
""")

mistake("prune", r'did you mean weight or bias\?', """
nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weights", 0.5)  # <-
""")

mistake("init not tensor", r'nn\.Linear\(2, 2\)\.weight', """
nn.init.xavier_uniform_(nn.Linear(2, 2))  # <-
""")

mistake("apply init biasless", r"ask isinstance\(m, nn\.Linear\) or hasattr\(m, 'bias'\) first", """
def init(m):
    nn.init.zeros_(m.bias)  # <-
nn.Sequential(nn.Linear(2, 2), nn.ReLU()).apply(init)
""")

mistake("clone call on param group", r"group\['lr'\] = 0\.1", """
opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
opt.param_groups["lr"] = 0.5  # <-
""")

mistake("wrong manual grad", r'give \.grad a tensor of the same shape, dtype and device, or', """
w = torch.ones(2, requires_grad=True)
w.grad = torch.ones(3)  # <-
""")

mistake("fft real", r'here n=0; it is fft_irfft\(input, n=None, dim=\-1, norm=None\)', """
torch.fft.irfft(torch.ones(3), n=0)  # <-
""")

mistake("cat dim", r'negative ones count from the end', """
torch.cat([torch.ones(2, 3), torch.ones(2, 3)], dim=2)  # <-
""")

mistake("pairwise cdist", r'reshape, slice or pad one of them \(here torch\.randn\(3, 4\)', """
torch.cdist(torch.randn(3, 4), torch.randn(3, 5))  # <-
""")

mistake("normalize mean list", r'torch\.tensor\(values\); with \[:, None, None\] behind it, it', """
img = torch.rand(3, 8, 8)
(img - [0.5, 0.5, 0.5]) / 0.5  # <-
""")

mistake("tensor plus mean of rgb", r'torch\.tensor\(\[0\.5, 0\.5, 0\.5\]\)\[:, None, None\] meets', """
img = torch.rand(3, 8, 8)
img - torch.tensor([0.5, 0.5, 0.5])  # <-
""")

mistake("print shape with size()", r'str\(value\), or f"shape \{value\}"', """
print("shape " + torch.ones(2).shape)  # <-
""")

mistake("accuracy divides", r'x\.sum\(\)\.item\(\), x\.mean\(\)\.item\(\); tolist\(\) gives all', """
correct = torch.tensor(3)
print("%d" % torch.ones(2))  # <-
""")
