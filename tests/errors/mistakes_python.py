"""Mistakes that Python itself reports, without asking claygrad: they are explained where they are shown."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("the gradient of nothing zeroed", r"None.*backward\(\)", """
w = torch.ones(3, requires_grad=True)
w.grad.zero_()  # <-
""")

mistake("a step with a gradient of nothing", r"None.*backward\(\)", """
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    w -= 0.1 * w.grad  # <-
""")

mistake("the norm of a gradient of a result", r"retain_grad\(\)", """
w = torch.ones(3, requires_grad=True)
h = w * 2
h.sum().backward()
print(h.grad.norm())  # <-
""")

mistake("gradients of parameters that are not used", r"None.*(backward\(\)|used)", """
model = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
model["a"](torch.ones(1, 2)).sum().backward()
total = sum(p.grad.norm() for p in model.parameters())  # <-
""")

mistake("backward of an item", r"item\(\)", """
w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum().item()
loss.backward()  # <-
""")

mistake("backward of a sum of items", r"item\(\)|number", """
w = torch.ones(3, requires_grad=True)
total = 0
for k in range(2):
    total += (w * k).sum().item()
total.backward()  # <-
""")

mistake("backward of a list of losses", r"sum\(|torch\.stack", """
w = torch.ones(3, requires_grad=True)
losses = [(w * k).sum() for k in range(2)]
losses.backward()  # <-
""")

mistake("backward of a tuple", r"element|\[0\]|unpack", """
model = nn.LSTM(2, 2)
out = model(torch.ones(1, 1, 2))
out.sum().backward()  # <-
""")

mistake("an unknown method of a tensor", r"did you mean transpose", """
x = torch.ones(2, 3)
x.trasnpose(0, 1)  # <-
""")

mistake("NumPy's method of a tensor", r"x\.to\(|\.float\(\)|\.to\(", """
x = torch.ones(2, 3)
x.astype("float32")  # <-
""")

mistake("append to a tensor", r"torch\.cat", """
results = torch.zeros(0)
results.append(torch.ones(1))  # <-
""")

mistake("a NumPy array moved to a device", r"torch\.from_numpy|torch\.tensor", """
batch = np.ones((2, 3))
batch.to("cpu")  # <-
""")

mistake("a NumPy array unsqueezed", r"torch\.from_numpy|torch\.tensor", """
batch = np.ones((2, 3))
batch.unsqueeze(0)  # <-
""")

mistake("a list with a shape", r"torch\.tensor|torch\.stack", """
batch = [torch.ones(2), torch.ones(2)]
print(batch.shape)  # <-
""")

mistake("a list moved to a device", r"torch\.stack|each", """
batch = [torch.ones(2), torch.ones(2)]
batch.to("cpu")  # <-
""")

mistake("a dict of outputs as a tensor", r"\[", """
out = {"logits": torch.ones(2, 3)}
out.argmax(1)  # <-
""")

mistake("a shape called", r"shape\[|size\(", """
x = torch.ones(2, 3)
x.shape(0)  # <-
""")

mistake("size indexed", r"size\(0\)|shape\[", """
x = torch.ones(2, 3)
x.size[0]  # <-
""")

mistake("the data called", r"\.data|brackets", """
x = torch.ones(2, 3)
x.data()  # <-
""")

mistake("a tensor called", r"\[|brackets|name", """
loss = torch.ones(2)
loss(torch.ones(2), torch.ones(2))  # <-
""")

mistake("a model that returns nothing", r"return", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        self.fc(x)
out = Net()(torch.ones(1, 2))
loss = out.sum()  # <-
""")

mistake("train assigned", r"model\.train\(\)|returns|None|return", """
def evaluate(model):
    model.eval()
model = evaluate(nn.Linear(2, 2))
model(torch.ones(1, 2))  # <-
""")

mistake("a dataset item that is None", r"None|return", """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        torch.ones(2)
x = Rows()[0]
x.unsqueeze(0)  # <-
""")

mistake("a None input", r"None|return", """
x = None
y = torch.ones(2) + x  # <-
""")

mistake("None times a tensor in a list", r"None|return", """
def load():
    torch.ones(2)
y = load() * 2  # <-
""")

mistake("the state_dict not called", r"state_dict\(\)", """
model = nn.Linear(2, 2)
for name in model.state_dict:  # <-
    pass
""")

mistake("parameters not called", r"parameters\(\)", """
model = nn.Linear(2, 2)
n = sum(p.numel() for p in model.parameters)  # <-
""")

mistake("zero_grad on the parameters", r"optimizer|model\.zero_grad|for ", """
model = nn.Linear(2, 2)
model.parameters().zero_grad()  # <-
""")

mistake("the length of parameters", r"list\(|sum\(", """
model = nn.Linear(2, 2)
len(model.parameters())  # <-
""")

mistake("an index of parameters", r"list\(", """
model = nn.Linear(2, 2)
model.parameters()[0]  # <-
""")

mistake("a ReLU module asked for a shape", r"call it first|call", """
h = nn.ReLU()
h.shape  # <-
""")

mistake("a model indexed", r"Sequential|model\.", """
class Net(nn.Module):
    pass
Net()[0]  # <-
""")

mistake("a loader of a loader", r"for |iter", """
loader = torch.utils.data.DataLoader([torch.ones(2)])
loader.to("cpu")  # <-
""")

mistake("an optimizer called", r"step\(\)", """
opt = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
opt()  # <-
""")

mistake("learning rate as an attribute", r"param_groups", """
opt = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
print(opt.lr)  # <-
""")

mistake("a string of a tensor added", r"str\(|f\"|format", """
loss = torch.ones(())
message = "loss: " + loss  # <-
""")

mistake("math on a batch", r"torch\.sqrt|torch\.", """
import math
math.sqrt(torch.ones(3))  # <-
""")

mistake("keys of tensors", r"item\(\)|tolist", """
counts = {1: "one"}
counts[torch.tensor(1)]  # <-
""")

mistake("a list indexed by a tensor of many", r"item\(\)|for |stack", """
names = ["cat", "dog"]
names[torch.tensor([0, 1])]  # <-
""")

mistake("an attribute set by a wrong name", r"requires_grad", """
w = torch.ones(3)
w.require_grad  # <-
""")

mistake("a function of torch that is not there", r"did you mean|functional", """
torch.crossentropy(torch.ones(2, 3), torch.zeros(2))  # <-
""")

mistake("a function of F in torch", r"nn\.functional|F\.", """
torch.cross_entropy(torch.ones(2, 3), torch.zeros(2))  # <-
""")

mistake("a layer of nn that is not there", r"Linear", """
nn.Dense(2, 3)  # <-
""")

mistake("a layer of nn by a near name", r"Conv2d", """
nn.Conv2D(2, 3, 3)  # <-
""")
