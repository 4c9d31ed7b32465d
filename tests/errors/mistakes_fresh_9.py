"""Mistakes of ordinary programs, written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("resnet block shortcut", "shapes are compared from the last dimension, and each pair of sizes must be", """
class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return torch.relu(out + x)  # <-
net = nn.Sequential(Block(16, 16), Block(16, 32, 2))
net(torch.randn(2, 16, 8, 8))
""")

mistake("dqn gather dims", "give the index as many dimensions as the input: actions.unsqueeze(1), and", """
q = nn.Linear(4, 2)
states, actions = torch.randn(32, 4), torch.randint(0, 2, (32,))
q_sa = q(states).gather(1, actions)  # <-
""")

mistake("policy gradient multiply list", "a list is repeated by *, not scaled: torch.stack(logps) makes one tensor of", """
logps, returns = [], [1.0, 0.9]
for _ in range(2):
    d = torch.distributions.Categorical(logits=torch.randn(3, requires_grad=True))
    logps.append(d.log_prob(d.sample()))
loss = -(logps * torch.tensor(returns)).sum()  # <-
""")

mistake("soft update copy of requires grad leaf", "a, b = nn.Linear(2, 2), nn.Linear(2, 2)", """
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
for p, t in zip(a.parameters(), b.parameters()):
    t.mul_(0.99)  # <-
    t.add_(0.01 * p)
""")

mistake("embedding of floats", "indices are integers: cast them with .long()", """
tokens = torch.tensor([[1., 5., 2.]])
emb = nn.Embedding(10, 4)
emb(tokens)  # <-
""")

mistake("vocab overflow from tokenizer", "indices go from 0 to 2, since num_embeddings is 3: 3 came; make the table", """
vocab = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}
emb = nn.Embedding(len(vocab) - 1, 8, padding_idx=0)
ids = torch.tensor([vocab[w] for w in "the cat sat".split()])
out = emb(ids).mean(0)  # <-
""")

mistake("cross entropy 3d logits", "the class dimension of the scores is the second, not the last: transpose(1,", """
logits = torch.randn(4, 7, 100)
target = torch.randint(0, 100, (4, 7))
loss = nn.CrossEntropyLoss()(logits, target)  # <-
""")

mistake("segmentation target channel", "the target is one class for each pixel, (batch, height, width), without a", """
pred = torch.randn(2, 5, 16, 16)
mask = torch.randint(0, 5, (2, 1, 16, 16))
loss = F.cross_entropy(pred, mask)  # <-
""")

mistake("mse float target int", "loss = nn.functional.mse_loss(w, y.long()).backward(): backward() returns", """
w = torch.randn(3, requires_grad=True)
y = torch.tensor([1, 2, 3])
loss = nn.functional.mse_loss(w, y.long()).backward()
loss.item()  # <-
""")

mistake("bce with long labels", "the target holds integers, and this loss compares floats: cast it with", """
net = nn.Linear(3, 1)
y = torch.tensor([0, 1, 1, 0])
loss = nn.BCEWithLogitsLoss()(net(torch.randn(4, 3)).squeeze(1), y)  # <-
""")

mistake("optimizer closure missing", "give step() a function that computes the loss, calls backward() and returns", """
w = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.LBFGS([w])
opt.step()  # <-
""")

mistake("plateau without metric again", "give it metrics=...: it is step(metrics, epoch=None)", """
w = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([w], lr=1.)
sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
opt.step(); sch.step()  # <-
""")

mistake("lambda lr list mismatch", "give one function, or one for each of the optimizer's 2 groups", """
a, b = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([{"params": [a]}, {"params": [b]}], lr=1.)
sch = torch.optim.lr_scheduler.LambdaLR(opt, [lambda e: 0.9 ** e])  # <-
""")

mistake("sched milestones str", "give it T_max=...: it is CosineAnnealingLR(optimizer, T_max, eta_min=0.0,", """
w = torch.nn.Parameter(torch.zeros(2))
sch = torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.Adam([w]))  # <-
""")

mistake("adam betas again", "beta (lr, momentum, betas ...) must lie in its range: 0 or more; betas", """
w = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([w], lr=1e-3, betas=(0.9, 1.0))  # <-
""")

mistake("negative lr", "learning rate (lr, momentum, betas ...) must lie in its range: 0 or more;", """
net = torch.nn.Linear(2, 2)
opt = torch.optim.AdamW(net.parameters(), lr=-3e-4)  # <-
""")

mistake("missing super init", "call super().__init__() first in the __init__ of your module", """
class Net(nn.Module):
    def __init__(self, d):
        self.fc = nn.Linear(d, 1)  # <-
    def forward(self, x): return self.fc(x)
Net(3)
""")

mistake("forgot return in forward", "out = Net()(torch.randn(1, 3)): what is called there has no return", """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.fc = nn.Linear(3, 2)
    def forward(self, x):
        x = torch.relu(self.fc(x))
out = Net()(torch.randn(1, 3))
print(out.shape)  # <-
""")

mistake("model called on list", "make one tensor of the list: torch.stack(list) of tensors,", """
net = nn.Linear(3, 2)
net([0.1, 0.2, 0.3])  # <-
""")

mistake("numpy input", "make a tensor of the array: torch.from_numpy(a), or torch.tensor(a)", """
net = nn.Sequential(nn.Linear(3, 2))
net(np.ones((2, 3), dtype=np.float32))  # <-
""")

mistake("double input from numpy", "the parameters are float32: cast the input with .float(), or the layer with", """
X = np.random.rand(10, 3)
net = nn.Linear(3, 1)
net(torch.from_numpy(X))  # <-
""")

mistake("uint8 image conv", "the parameters are float32: cast the input with .float(), or the layer with", """
img = torch.randint(0, 256, (1, 3, 32, 32), dtype=torch.uint8)
nn.Conv2d(3, 8, 3)(img)  # <-
""")

mistake("half cpu mix", "the parameters are float16: cast the input with .half(), or the layer with", """
net = nn.Linear(4, 4).half()
net(torch.randn(2, 4))  # <-
""")

mistake("complex real mix linear", "the parameters are float32 and real: give it the real parts, x.abs(),", """
spec = torch.fft.rfft(torch.randn(2, 8))
nn.Linear(5, 3)(spec)  # <-
""")

mistake("cuda missing", "there is no such device here: choose device = \"cuda\" if", """
net = torch.nn.Linear(2, 2).to("cuda")  # <-
""")

mistake("device typo", "devices are named \"cpu\", \"cuda\", \"cuda:0\", \"meta\" ...: there is no gpu;", """
dev = torch.device("gpu")  # <-
""")

mistake("index with float slice", "/ gives a float, and a slice counts in whole numbers: len(x) // 2", """
x = torch.arange(10)
half = x[:len(x) / 2]  # <-
""")

mistake("assign wrong size slice", "buf[2:5] is (3, 4), and torch.randn(2, 4) is (2, 4): both sides must have", """
buf = torch.zeros(10, 4)
buf[2:5] = torch.randn(2, 4)  # <-
""")

mistake("tensor indexing list of lists different", "the indices are taken together, element by element: they must have one", """
x = torch.randn(4, 4)
x[[0, 1, 2], [0, 1]]  # <-
""")

mistake("in-place relu on leaf view", "w[:2]: (2,) float32", """
w = torch.randn(4, requires_grad=True)
w[:2].zero_()  # <-
""")

mistake("sum of bool dim name", "dim goes from -2 to 1 for this tensor: negative ones count from the end", """
m = torch.randn(3, 3) > 0
m.sum(axis=2)  # <-
""")

mistake("tensor append", "tensors have no append: use torch.cat([x, y])", """
xs = torch.tensor([])
for i in range(3): xs.append(i)  # <-
""")

mistake("reshape with keyword", "it has no order=, leave it out: it is view(input, size=None, dtype=None)", """
x = torch.randn(2, 6)
x.view(size=(3, 4), order="C")  # <-
""")

mistake("topk k too large", "dimension -1 has 3 elements, and k is 5: take k=3 at most, min(k,", """
scores = torch.randn(5, 3)
vals, idx = scores.topk(5)  # <-
""")

mistake("multinomial zero probs", "probabilities are 0 or more, and not all 0: softmax the scores first", """
p = torch.zeros(4)
torch.multinomial(p, 2)  # <-
""")

mistake("grid_sample grid", "its 2 are in dimension 1, and must come last: grid.movedim(1, -1) is (1, 8,", """
img = torch.randn(1, 3, 8, 8)
grid = torch.rand(1, 2, 8, 8) * 2 - 1
F.grid_sample(img, grid)  # <-
""")

mistake("jacobian of module wrong args", "a tuple of 2, (torch.randn(3), ...), for 2 arguments; or functools.partial", """
jacobian = torch.autograd.functional.jacobian
f = lambda x, y: x * y
jacobian(f, torch.randn(3))  # <-
""")

mistake("save lambda module", "functions inside functions and lambdas cannot be saved, nor sent to another", """
import io
net = torch.nn.Linear(2, 2)
net.act = lambda x: x
torch.save(net, io.BytesIO())  # <-
""")

mistake("load weights only", "functions inside functions and lambdas cannot be saved, nor sent to another", """
import io
class Config:
    def __init__(self): self.lr = 1
f = io.BytesIO(); torch.save({"cfg": Config()}, f); f.seek(0)  # <-
torch.load(f)
""")
