"""Classic mistakes around gradients. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("loss cut by detach", r"without detach\(\)", """
w = torch.randn(3, requires_grad=True)
y = (w * 2).detach()  # <-
loss = y.sum()
loss.backward()  # <-
""")

mistake("loss cut by .data", r"without \.data", """
w = torch.randn(3, requires_grad=True)
y = (w * 2).data  # <-
loss = (y ** 2).sum()
loss.backward()  # <-
""")

mistake("loss cut by item", r"without item\(\)", """
w = torch.randn(3, requires_grad=True)
total = (w * 2).sum().item()  # <-
loss = torch.tensor(total)
loss.backward()  # <-
""")

mistake("loss cut by tolist", r"without tolist\(\)|torch\.stack|stack\(", """
w = torch.randn(3, requires_grad=True)
values = (w * 2).tolist()  # <-
loss = torch.tensor(values).sum()
loss.backward()  # <-
""")

mistake("loss cut by numpy", r"without .*numpy\(\)", """
import numpy as np
w = torch.randn(3, requires_grad=True)
a = np.exp((w * 2).detach().numpy())  # <-
loss = torch.from_numpy(a).sum()
loss.backward()  # <-
""")

mistake("loss cut by argmax", r"argmax.*(no gradient|softmax)", """
w = torch.randn(4, 3, requires_grad=True)
chosen = w.argmax(1)  # <-
loss = chosen.float().mean()
loss.backward()  # <-
""")

mistake("loss cut by a comparison", r"comparison", """
w = torch.randn(4, requires_grad=True)
right = (w > 0)  # <-
loss = 1 - right.float().mean()
loss.backward()  # <-
""")

mistake("loss cut by an integer cast", r"integers? .*no gradient|floating", """
w = torch.randn(4, requires_grad=True)
steps = (w * 10).long()  # <-
loss = steps.float().sum()
loss.backward()  # <-
""")

mistake("loss cut by torch.tensor", r"torch\.tensor.*stack|stack", """
w = torch.randn(3, requires_grad=True)
losses = [(w * k).sum() for k in range(3)]
loss = torch.tensor(losses).mean()  # <-
loss.backward()  # <-
""")

mistake("loss cut by no_grad", r"no_grad", """
model = nn.Linear(3, 1)
with torch.no_grad():
    out = model(torch.randn(4, 3))  # <-
loss = out.mean()
loss.backward()  # <-
""")

mistake("loss of frozen parameters", r"requires_grad", """
model = nn.Linear(3, 1)
for p in model.parameters():
    p.requires_grad = False
loss = model(torch.randn(4, 3)).mean()
loss.backward()  # <-
""")

mistake("nothing requires grad", r"requires_grad", """
x = torch.ones(3)
y = (x * 2).sum()
y.backward()  # <-
""")

mistake("backward twice", r"retain_graph=True|compute .* again", """
x = torch.randn(3, requires_grad=True)
y = (x ** 2).sum()  # <-
y.backward()  # <-
y.backward()  # <-
""")

mistake("a graph built outside the loop", r"inside the loop", """
w = torch.randn(3, requires_grad=True)
penalty = (w ** 2).sum()  # <-
for step in range(2):
    loss = (w * step).sum() + penalty
    loss.backward()  # <-
""")

mistake("hidden state kept over steps", r"detach\(\)", """
cell = nn.RNNCell(2, 3)
h = torch.zeros(1, 3)
for step in range(2):
    h = cell(torch.ones(1, 2), h)  # <-
    loss = h.sum()
    loss.backward()  # <-
""")

mistake("backward of many elements", r"sum\(\).*mean\(\).*gradient=", """
x = torch.randn(3, requires_grad=True)
y = x * 2  # <-
y.backward()  # <-
""")

mistake("a loss with reduction none", r"sum\(\)|mean\(\)", """
x = torch.randn(4, 3, requires_grad=True)
loss = F.mse_loss(x, torch.zeros(4, 3), reduction="none")  # <-
loss.backward()  # <-
""")

mistake("a leaf changed in place", r"no_grad\(\)", """
w = torch.ones(3, requires_grad=True)  # <-
w += 1  # <-
""")

mistake("a parameter changed in place", r"no_grad\(\)", """
model = nn.Linear(2, 1)  # <-
model.weight.mul_(2)  # <-
""")

mistake("an element of a leaf assigned", r"no_grad\(\)", """
w = torch.zeros(3, requires_grad=True)  # <-
w[0] = 1.0  # <-
""")

mistake("a part of unbind changed in place", r"clone\(\)", """
x = torch.randn(2, 3, requires_grad=True)
a, b = (x * 2).unbind(0)  # <-
a.add_(1)  # <-
""")

mistake("an expanded tensor changed in place", r"clone\(\)", """
x = torch.zeros(3, 1)
y = x.expand(3, 4)
y.add_(torch.arange(4.0))  # <-
""")

mistake("saved memory changed through NumPy", r"copy", """
a = np.random.rand(200000)
x = torch.from_numpy(a)  # <-
w = torch.ones(200000, dtype=torch.float64, requires_grad=True)
loss = (x * w).sum()  # <-
a[:] = 0
loss.backward()  # <-
""")

mistake("grad of an unused input", r"allow_unused=True", """
x = torch.randn(3, requires_grad=True)
z = torch.randn(3, requires_grad=True)  # <-
y = (x * 2).sum()
torch.autograd.grad(y, [x, z])  # <-
""")

mistake("grad of an input that does not require it", r"requires_grad", """
x = torch.randn(3)  # <-
w = torch.randn(3, requires_grad=True)
y = (x * w).sum()
torch.autograd.grad(y, x)  # <-
""")

mistake("integers that should require grad", r"floating|dtype=", """
x = torch.tensor([1, 2, 3], requires_grad=True)  # <-
""")

mistake("requires_grad_ of integers", r"float", """
x = torch.arange(3)
x.requires_grad_()  # <-
""")

mistake("numpy of a tensor that requires grad", r"detach\(\)\.numpy\(\)", """
x = torch.randn(3, requires_grad=True)
a = (x * 2).numpy()  # <-
""")

mistake("item of many elements", r"\[i\]|sum\(\)|mean\(\)", """
x = torch.randn(3)
v = (x * 2).item()  # <-
""")

mistake("the truth of many elements", r"any\(\).*all\(\)", """
x = torch.randn(3)
if x > 0:  # <-
    pass
""")

mistake("a Function that returns too few gradients", r"one gradient for each", """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, b):
        return x * k + b
    @staticmethod
    def backward(ctx, g):
        return g * 2, None
x = torch.randn(3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
y = Scale.apply(x, 2, b)  # <-
y.sum().backward()  # <-
""")

mistake("a Function that returns a wrong shape", r"shape of", """
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()
    @staticmethod
    def backward(ctx, g):
        return g.expand(4)
x = torch.randn(3, requires_grad=True)
y = Total.apply(x)  # <-
y.backward()  # <-
""")

mistake("a Function called instead of applied", r"apply\(", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
y = Double()(torch.randn(3))  # <-
""")

mistake("a hook that returns another shape", r"None, or a gradient of shape", """
x = torch.randn(3, requires_grad=True)
x.register_hook(lambda g: g.sum())
(x * 2).sum().backward()  # <-
""")

mistake("a hook that returns a number", r"None, or a tensor", """
x = torch.randn(3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: 1.0)
y.sum().backward()  # <-
""")

mistake("a gradient of another shape", r"\[3\]|\(3,\)", """
x = torch.randn(3, requires_grad=True)
y = x * 2  # <-
y.backward(torch.ones(4))  # <-
""")

mistake("deepcopy of a result", r"detach\(\)|clone\(\)", """
import copy
x = torch.randn(3, requires_grad=True)
y = x * 2
z = copy.deepcopy(y)  # <-
""")

mistake("requires_grad off for a result", r"detach\(\)", """
x = torch.randn(3, requires_grad=True)
y = x * 2  # <-
y.requires_grad = False  # <-
""")

mistake("retain_grad of a constant", r"requires_grad", """
x = torch.randn(3)  # <-
x.retain_grad()  # <-
""")
