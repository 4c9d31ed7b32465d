"""The sixth sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("resnet residual channels", "nn.Conv2d(16, 32, kernel_size=1)", """
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)
    def forward(self, x):
        return x + self.conv(x)  # <-
Block(16, 32)(torch.randn(2, 16, 8, 8))
""")

mistake("vae kl sum", "a tensor of shape [4, 8]; reduce it (sum(), mean()) or pass gradient=", """
mu = torch.randn(4, 8, requires_grad=True); lv = torch.zeros(4, 8)
kl = -0.5 * (1 + lv - mu ** 2 - lv.exp())
kl.backward()  # <-
""")

mistake("reinforce numpy reward", "make a tensor of the list: torch.tensor(values); with [:, None, None] behind", """
logp = torch.randn(3, requires_grad=True)
loss = -(logp * ["1", "2", "3"]).sum()  # <-
""")

mistake("rl logits choice np", "call .detach().numpy(): gradients do not flow through NumPy", """
p = torch.softmax(torch.randn(3, requires_grad=True), 0)
a = np.random.choice(3, p=p)  # <-
""")

mistake("plot loss list", "x[i].item(), or reduce it first: x.sum().item(), x.mean().item(); tolist()", """
import math
l = torch.tensor([1.0, 2.0], requires_grad=True)
print(math.exp(l))  # <-
""")

mistake("metric format", "a format is for one number: acc.mean().item(), acc[0].item(), or", """
acc = torch.tensor([0.5, 0.7])
print(f"acc {acc:.2f}")  # <-
""")

mistake("print percent", "take one element, x[i].item(), or reduce it first: x.sum().item(),", """
loss = torch.randn(3)
print("loss %.3f" % loss)  # <-
""")

mistake("range tensor", "use .item() on one integer, or .long() first", """
n = torch.tensor(3.7)
for i in range(n):  # <-
    pass
""")

mistake("str concat", "make text of the tensor: f\"loss {loss.item():.4f}\", or str(loss.item())", """
loss = torch.tensor(0.3)
print("loss: " + loss)  # <-
""")

mistake("dict batch to", "tensors: {key: x.to(...) for key, x in batch.items()}", """
batch = {"x": torch.zeros(2), "y": torch.ones(2)}
batch = batch.to("cpu")  # <-
""")

mistake("list batch to", "batch is a list of 2 tensors: [x.cuda(...) for x in batch], or", """
batch = [torch.zeros(2), torch.ones(2)]
batch = batch.cuda()  # <-
""")

mistake("np array to model", "make a tensor of the array: torch.from_numpy(a), or torch.tensor(a)", """
m = nn.Linear(3, 1)
y = m(np.ones((2, 3), dtype=np.float32))  # <-
""")

mistake("list to model", "make one tensor of the list: torch.stack(list) of tensors, torch.tensor(list)", """
m = nn.Linear(3, 1)
y = m([1.0, 2.0, 3.0])  # <-
""")

mistake("int input model", "float32: cast the input with .float(), or the layer with .to(input.dtype)", """
m = nn.Linear(3, 1)
y = m(torch.tensor([[1, 2, 3]]))  # <-
""")

mistake("embedding then conv", "second, and here they are last: permute(0, 2, 1) the input, which gives (2, 16,", """
emb = nn.Embedding(50, 16); conv = nn.Conv1d(16, 8, 3)
x = emb(torch.randint(0, 50, (2, 12)))
y = conv(x)  # <-
""")

mistake("gru hidden batch first", "the hidden state is (layers * directions, batch, hidden_size): make it for this", """
g = nn.GRU(3, 5, batch_first=True)
y, h = g(torch.randn(4, 7, 3), torch.zeros(4, 1, 5))  # <-
""")

mistake("lstm batch change", "is (layers * directions, batch, hidden_size): make it for this batch, or leave", """
l = nn.LSTM(3, 5)
_, state = l(torch.randn(7, 4, 3))
y, _ = l(torch.randn(7, 2, 3), state)  # <-
""")

mistake("seq2seq cat hidden", "joined along dim=2, the sizes must be equal in all others: dim=0 fits these", """
h = torch.randn(1, 4, 8); enc = torch.randn(10, 4, 8)
e = torch.cat([h, enc], dim=2)  # <-
""")

mistake("attention bmm", "equal batches: 2 against 2; .mT transposes the matrices of a batch", """
q = torch.randn(2, 5, 8); k = torch.randn(2, 7, 8)
w = torch.bmm(q, k)  # <-
""")

mistake("attn mask wrong head", "= (12, 6, 6): mask.repeat_interleave(4, dim=0) gives every head that", """
m = nn.MultiheadAttention(16, 4)
x = torch.randn(6, 3, 16)
mask = torch.zeros(3, 6, 6)
y = m(x, x, x, attn_mask=mask)  # <-
""")

mistake("mha unpack", "MultiheadAttention returns a tuple, (output, weights): take the first,", """
m = nn.MultiheadAttention(16, 4, batch_first=True)
x = torch.randn(2, 5, 16)
y = m(x, x, x) + x  # <-
""")

mistake("transformer missing tgt", "arguments to forward(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None,", """
t = nn.Transformer(16, 4, 1, 1)
y = t(torch.randn(5, 2, 16))  # <-
""")

mistake("layer norm conv", "normalized_shape is that of the last dimensions of the input: make the layer", """
ln = nn.LayerNorm(8)
y = ln(torch.randn(2, 8, 4, 4))  # <-
""")

mistake("bn channels mismatch", "features: make BatchNorm2d with num_features=16, or give it 32", """
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(32))
y = net(torch.randn(2, 3, 8, 8))  # <-
""")

mistake("pool 3d input", "it takes (batch, channels, ...), or (channels, ...) for one sample: x[None,", """
y = nn.MaxPool2d(2)(torch.randn(8, 8))  # <-
""")

mistake("avgpool kernel", "the input is too small here: fewer poolings or strides before it, or padding=", """
y = F.avg_pool2d(torch.randn(1, 1, 3, 3), 7)  # <-
""")

mistake("conv kernel tuple", "give it kernel_size=...: it is Conv2d(in_channels, out_channels, kernel_size,", """
c = nn.Conv2d(1, 1)  # <-
""")

mistake("conv padding str", "is given must be one of {'same', 'valid'}; it is Conv2d(in_channels,", """
c = nn.Conv2d(1, 1, 3, padding="full")  # <-
""")

mistake("linear then conv", "it takes (batch, channels, height, width): x[:, :, None, None] makes (2, 64, 1,", """
y = nn.Sequential(nn.Linear(10, 64), nn.ConvTranspose2d(64, 8, 4))(torch.randn(2, 10))  # <-
""")

mistake("hook not callable", "tensor in this graph is no function: register_hook(lambda grad: grad * 2) takes", """
x = torch.randn(2, requires_grad=True)
x.register_hook(None)
(x * 2).sum().backward()  # <-
""")

mistake("fn forward no ctx", "write forward(ctx, x), or define setup_context(ctx, inputs, output) too", """
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x ** 2
    @staticmethod
    def backward(ctx, g):
        return g
y = Sq.apply(torch.randn(2, requires_grad=True))  # <-
""")

mistake("fn instance call", "call its apply: ", """
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x ** 2
    @staticmethod
    def backward(ctx, g):
        return g
y = Sq()(torch.randn(2, requires_grad=True))  # <-
""")

mistake("fn no backward", "define it in the Function as a static method, with ctx as its first parameter", """
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x ** 2
y = Sq.apply(torch.randn(2, requires_grad=True))
y.sum().backward()  # <-
""")

mistake("gradcheck float", "leaves that require grad, in double precision: torch.randn(3,", """
def f(x): return (x ** 2).sum()
torch.autograd.gradcheck(f, (torch.randn(3),))  # <-
""")

mistake("backward grad shape", "pass a gradient of shape [3], that of the tensor backward() is called on", """
y = torch.randn(3, requires_grad=True) * 2
y.backward(torch.ones(4))  # <-
""")

mistake("inference then train", "clone() it outside inference_mode(), or compute it under no_grad() instead", """
with torch.inference_mode():
    h = torch.randn(3)
w = torch.randn(3, requires_grad=True)
(h * w).sum().backward()  # <-
""")

mistake("param in no grad ctx", "compute it outside torch.no_grad() (or inference_mode), which records nothing", """
m = nn.Linear(2, 1)
with torch.no_grad():
    loss = m(torch.ones(1, 2)).sum()  # <-
loss.backward()
""")

mistake("data loss", "compute it without .data there", """
m = nn.Linear(2, 1)
loss = m(torch.ones(1, 2)).data.sum()  # <-
loss.backward()
""")

mistake("comparision loss", "a comparison has no gradient: use a loss that changes with the values (such as", """
x = torch.randn(4, requires_grad=True)
loss = (x > 0).float().mean()  # <-
loss.backward()
""")

mistake("numpy roundtrip", "compute it without numpy(): NumPy records no graph", """
x = torch.randn(4, requires_grad=True)
y = torch.from_numpy(np.exp(x.detach().numpy()))  # <-
y.sum().backward()
""")

mistake("optimizer of detached", "was computed from, or a new leaf, x.detach().requires_grad_()", """
x = torch.randn(3, requires_grad=True) * 0.1
opt = torch.optim.Adam([x], lr=0.1)  # <-
""")

mistake("optimizer step closure", "step() takes nothing, or a function that computes the loss again:", """
m = nn.Linear(2, 1); opt = torch.optim.SGD(m.parameters(), lr=0.1)
loss = m(torch.ones(1, 2)).sum(); loss.backward()
opt.step(loss)  # <-
""")

mistake("sched in optim", "another module: torch.optim.lr_scheduler.StepLR", """
s = torch.optim.StepLR(None, 3)  # <-
""")

mistake("loss typo", "did you mean 'CrossEntropyLoss'?", """
c = nn.CrossEntropy()  # <-
""")

mistake("func typo", "did you mean relu?", """
y = F.reul(torch.randn(2))  # <-
""")

mistake("tensor method typo", "did you mean unsqueeze? It is unsqueeze(input, dim)", """
y = torch.randn(2).unsqueez(0)  # <-
""")

mistake("numpy style", "tensors have no astype: use x.to(dtype)", """
y = torch.randn(2).astype("float32")  # <-
""")

mistake("concatenate axis", "have no append: use torch.cat([x, y])", """
y = torch.randn(2, 3).append(torch.randn(1, 3))  # <-
""")

mistake("device attr", "modules have no device, their parameters have: next(m.parameters()).device", """
m = nn.Linear(2, 2)
d = m.device  # <-
""")

mistake("shape call", "is indexed, not called: x.shape[0], or x.size(0)", """
x = torch.randn(2, 3)
n = x.shape(0)  # <-
""")

mistake("size index", "size is a method: x.size(0), or x.shape[0]", """
x = torch.randn(2, 3)
n = x.size[0]  # <-
""")

mistake("model index", "reach its parts by their names, model.fc1, and use nn.Sequential or", """
class N(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Linear(2, 2)
w = N()[0]  # <-
""")

mistake("state dict call attr", "call it first, m.state_dict().keys", """
m = nn.Linear(2, 2)
k = m.state_dict.keys()  # <-
""")

mistake("grad item none", "m.weight.grad is None, for no backward() has reached m.weight: call backward()", """
m = nn.Linear(2, 2)
print(m.weight.grad.norm())  # <-
""")

mistake("unknown kw dataloader", "did you mean batch_size? It is DataLoader(dataset, batch_size=1, shuffle=None,", """
dl = torch.utils.data.DataLoader([1, 2], batchsize=2)  # <-
""")

mistake("kw linear", "did you mean bias? It is Linear(in_features, out_features, bias=True,", """
l = nn.Linear(2, 2, use_bias=False)  # <-
""")

mistake("load str", "read the file first: model.load_state_dict(torch.load(path))", """
m = nn.Linear(2, 2)
m.load_state_dict("model.pt")  # <-
""")

mistake("random split frac", "fractions that add up to 1", """
a, b = torch.utils.data.random_split(range(10), [0.7, 0.4])  # <-
""")

mistake("subset oob", "an index must be at least 0 and less than the size of its dimension.", """
s = torch.utils.data.Subset([1, 2, 3], [0, 5])
x = s[1]  # <-
""")
