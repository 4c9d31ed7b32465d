"""The fifth sixty mistakes that were written before anybody looked at what claygrad says of them.

`# <-` marks the lines that the message or the traceback must name; the text after the name is a part of the way out.
"""

import re

MISTAKES = {}


def mistake(name: str, says: str, program: str) -> None:
    MISTAKES[name] = (re.escape(says), program.lstrip("\n"))


mistake("mlp batch dims", "the last dimension of the input is 28, and must be in_features=784: make the", """
model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
x = torch.rand(16, 1, 28, 28)
y = model(x)  # <-
""")

mistake("linear chain typo", "input is 50, and must be in_features=60: make the layer with in_features=50", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 50)
        self.fc2 = nn.Linear(60, 2)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))  # <-
Net()(torch.randn(3, 20))
""")

mistake("attr typo", "did you mean fc1?", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 2)
    def forward(self, x):
        return self.fcl(x)  # <-
Net()(torch.randn(1, 2))
""")

mistake("self forgotten", "attribute of the module: self.fc", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return fc(x)  # <-
Net()(torch.randn(1, 2))
""")

mistake("forward no return", "what is called there has no return (forward() of the model, for one)", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        x = self.fc(x)
out = Net()(torch.randn(1, 2))
loss = F.mse_loss(out, torch.zeros(1, 2))  # <-
""")

mistake("zero grad none", "w.grad is None, for no backward() has reached w: call backward() before this", """
w = torch.randn(2, requires_grad=True)
w.grad.zero_()  # <-
""")

mistake("loss item backward", "loss is a number, without a graph, since", """
m = nn.Linear(2, 1)
loss = m(torch.ones(1, 2)).sum().item()
loss.backward()  # <-
""")

mistake("acc tensor list index", "use .item() on one integer, or .long() first", """
names = ["cat", "dog"]
pred = torch.tensor([0.2, 0.8]).argmax()
label = names[torch.tensor([0, 1])]  # <-
""")

mistake("mse shapes incompat", "shapes are compared from the last dimension, and each pair of sizes must be", """
out = torch.randn(8, 3); y = torch.randn(8, 4)
loss = F.mse_loss(out, y)  # <-
""")

mistake("ce batch mismatch", "cross_entropy takes scores (batch, classes, ...) and a target of class indices", """
out = torch.randn(8, 3); y = torch.randint(0, 3, (7,))
loss = F.cross_entropy(out, y)  # <-
""")

mistake("ce target neg1", "4 classes: labels go from 0 to 3; ignore_index=-1 leaves such elements out", """
out = torch.randn(3, 4); y = torch.tensor([0, -1, 2])
loss = F.cross_entropy(out, y)  # <-
""")

mistake("ce 2d column", "a column, (8, 1); y.squeeze(1) makes class indices of it", """
out = torch.randn(8, 3); y = torch.randint(0, 3, (8, 1))
loss = F.cross_entropy(out, y)  # <-
""")

mistake("nll float", "so cast the target with .long()", """
loss = F.nll_loss(torch.randn(4, 3).log_softmax(1), torch.rand(4))  # <-
""")

mistake("segmentation target", "one class for each pixel, (batch, height, width), without a channel:", """
out = torch.randn(2, 5, 8, 8); y = torch.randint(0, 5, (2, 1, 8, 8))
loss = F.cross_entropy(out, y)  # <-
""")

mistake("bce nan", "the input holds NaN, so it was spoilt before: with claygrad.debug.trace_nans()", """
p = torch.tensor([float("nan"), 0.3])
loss = F.binary_cross_entropy(p, torch.ones(2))  # <-
""")

mistake("add tensor str", "operands are tensors and numbers: convert the other, or look why it is str", """
lr = "0.1"
w = torch.ones(3)
w2 = w * lr  # <-
""")

mistake("add none", "h is None, since", """
h = None
x = torch.ones(2) + h  # <-
""")

mistake("cat dims rank", "give both as many dimensions: b.unsqueeze(0) is (1, 8)", """
a = torch.randn(4, 8); b = torch.randn(8)
c = torch.cat([a, b])  # <-
""")

mistake("stack numpy", "element 0 is ndarray: make a tensor of it, torch.from_numpy(a), or leave it out", """
xs = [np.zeros(2), np.ones(2)]
b = torch.stack(xs)  # <-
""")

mistake("to numpy cat", "element 1 is ndarray: make a tensor of it, torch.from_numpy(a), or leave it out", """
x = torch.cat([torch.zeros(2), np.ones(2)])  # <-
""")

mistake("matmul vec batch", "batches: 10 against 10; .mT transposes the matrices of a batch", """
a = torch.randn(10, 3, 4); b = torch.randn(10, 5, 6)
c = torch.matmul(a, b)  # <-
""")

mistake("linear 1d weights", "a matrix of 4 columns meets a vector of 5 elements: give the vector 4, or", """
w = torch.randn(5)
y = torch.randn(3, 4) @ w  # <-
""")

mistake("reshape infer two", "write -1 for one size at most", """
y = torch.randn(4, 6).reshape(-1, -1)  # <-
""")

mistake("reshape not div", "the input has 24 elements, which 5 does not divide: correct one of the sizes", """
y = torch.randn(4, 6).reshape(5, -1)  # <-
""")

mistake("dim name", "dim must be tuple of ints; int(n), or // instead of /, makes an int. It is", """
y = torch.randn(3, 4).sum(dim="0")  # <-
""")

mistake("index str", "is a tensor, not a dict: index it with an int, a slice or a mask; a batch that", """
row = torch.randn(3)["a"]  # <-
""")

mistake("index 3d on 2d", "the tensor has 2 dimensions: take as many indices at most", """
x = torch.randn(3, 4)
y = x[0, 1, 2]  # <-
""")

mistake("index oob neg", "indices of dimension 0 go from -5 to 4, that is 0 to 4 from the front; 5 came", """
x = torch.randn(5)
print(x[5])  # <-
""")

mistake("index tensor oob", "indices of dimension 0 go from -5 to 4, that is 0 to 4 from the front; 7 came", """
x = torch.randn(5, 2); i = torch.tensor([0, 7])
y = x[i]  # <-
""")

mistake("assign shape", "x[:, 0] is (4), and torch.ones(3) is (3): both sides must have one shape", """
x = torch.zeros(4, 3)
x[:, 0] = torch.ones(3)  # <-
""")

mistake("inplace expand", "memory, as after expand(): clone() it first", """
x = torch.zeros(1, 3).expand(4, 3)
x += 1  # <-
""")

mistake("inplace float to int", "change in place keeps the dtype: write x = x / y instead of x /= y, or make x", """
n = torch.tensor([1, 2, 3])
n += 0.5  # <-
""")

mistake("inplace bcast", "a change in place keeps the shape (3): write x = x + y instead, or reshape the", """
a = torch.zeros(3)
a += torch.ones(2, 3)  # <-
""")

mistake("leaf fill", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
w = nn.Parameter(torch.zeros(3))
w.fill_(1.0)  # <-
""")

mistake("leaf relu inplace", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
w = torch.randn(3, requires_grad=True)
F.relu(w, inplace=True)  # <-
""")

mistake("param add ", "Change it under no_grad(), through .data, or work on a copy (clone()).", """
m = nn.Linear(2, 2)
for p in m.parameters():
    p.sub_(0.1)  # <-
""")

mistake("bool tensor float neg", "use ~ or logical_not() for masks, ^ for differences, or .int() to count", """
m = torch.tensor([True, False])
inv = -m  # <-
""")

mistake("invert float", "~, &, | and ^ take masks and integers: compare first, (x > 0)", """
x = torch.tensor([1., 0.])
y = ~x  # <-
""")

mistake("shift float", "it counts or indexes, with integers: cast the input with .long()", """
y = torch.tensor([1.5]) << 1  # <-
""")

mistake("bitand float", "&, | and ^ take masks and integers: compare first, (x > 0) & (y > 0);", """
y = torch.rand(3) & torch.rand(3)  # <-
""")

mistake("int div zero", "divide by what is not 0, or make it floating", """
y = torch.tensor([1, 2]) // torch.tensor([0, 1])  # <-
""")

mistake("int pow neg", "result would be no integer: x.float() ** -1, or 1 / x", """
y = torch.tensor([2, 3]) ** -1  # <-
""")

mistake("mean bool", "integers is no integer: x.float().mean(), or mean(dtype=torch.float32)", """
y = (torch.rand(3) > 0.5).mean()  # <-
""")

mistake("std int", "cast the input with .float()", """
y = torch.arange(5).std()  # <-
""")

mistake("norm int", "cast the input with .float()", """
y = torch.linalg.norm(torch.arange(4))  # <-
""")

mistake("softmax int", "it takes floating numbers: call .float() first", """
y = torch.softmax(torch.tensor([1, 2, 3]), 0)  # <-
""")

mistake("tensor none", "a tensor is made of numbers, lists of them, or a NumPy array of numbers", """
y = torch.tensor([1.0, None])  # <-
""")

mistake("tensor dict", "a tensor is made of numbers, lists of them, or a NumPy array of numbers", """
y = torch.tensor({"a": 1})  # <-
""")

mistake("tensor mixed str", "strings are no numbers: map them to indices first", """
y = torch.tensor([1.0, "2"])  # <-
""")

mistake("arange step", "a negative step counts down: start above end, or make the step positive", """
y = torch.arange(5, 0)  # <-
""")

mistake("linspace steps", "it is linspace(start, end, steps)", """
y = torch.linspace(0, 1)  # <-
""")

mistake("eye neg", "n must be greater or equal to 0, and -1 came: give it what it takes; it is", """
y = torch.eye(-1)  # <-
""")

mistake("randperm float", "n must be int; int(n), or // instead of /, makes an int. It is randperm(n,", """
y = torch.randperm(10.0)  # <-
""")

mistake("manual seed none", "seed is None: look at the line that should have given it a value", """
torch.manual_seed(None)  # <-
""")

mistake("load state optimizer into model", "this is the state of an optimizer: give the model its own,", """
m = nn.Linear(2, 2); o = torch.optim.Adam(m.parameters())
m.load_state_dict(o.state_dict())  # <-
""")

mistake("eval no parens chain", "eval() takes no data: m.eval() on a line of its own, then m(x)", """
m = nn.Linear(2, 2)
y = m.eval(torch.randn(1, 2))  # <-
""")

mistake("train str", "give train() a bool, or nothing: model.train(), model.train(False), model.eval()", """
m = nn.Linear(2, 2)
m.train("yes")  # <-
""")

mistake("parameters index", "walked through once, by a for: list(m.parameters()) has a length and elements", """
m = nn.Linear(2, 2)
w = m.parameters()[0]  # <-
""")

mistake("model plus", "a is a module, not its result: call it with the data, a(x)", """
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
c = a + b  # <-
""")

mistake("named params unpack", "p is a pair of a name and a tensor, as named_parameters() gives them: for name,", """
for p in nn.Linear(2, 2).named_parameters():
    p.requires_grad = False  # <-
""")

mistake("module dict key", "it has 'enc'", """
d = nn.ModuleDict({"enc": nn.Linear(2, 2)})
y = d["encoder"](torch.randn(1, 2))  # <-
""")
