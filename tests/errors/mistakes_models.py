"""Classic mistakes with modules, optimizers and calls. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("missing super().__init__()", r"super\(\)\.__init__\(\)", """
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 1)  # <-
model = Net()
""")

mistake("missing super().__init__() with a parameter", r"super\(\)\.__init__\(\)", """
class Net(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(torch.ones(2))  # <-
model = Net()
""")

mistake("a model without forward", r"def forward", """
class Net(nn.Module):
    def forwards(self, x):
        return x
model = Net()
y = model(torch.ones(2))  # <-
""")

mistake("an unknown layer", r"fc1", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 1)
    def forward(self, x):
        return self.fcl(x)  # <-
model = Net()
y = model(torch.ones(2))
""")

mistake("layers kept in a plain list", r"ModuleList", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 1)]  # <-
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
""")

mistake("an optimizer given the model", r"model\.parameters\(\)", """
model = nn.Linear(2, 1)
opt = torch.optim.Adam(model)  # <-
""")

mistake("an optimizer given a parameter", r"\[", """
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD(w, lr=0.1)  # <-
""")

mistake("an optimizer given an exhausted generator", r"list\(|again", """
model = nn.Linear(2, 1)
params = model.parameters()
n = sum(p.numel() for p in params)
opt = torch.optim.SGD(params, lr=0.1)  # <-
""")

mistake("an optimizer given a result", r"leaf|detach\(\)", """
w = torch.ones(3, requires_grad=True)
scaled = w * 0.1  # <-
opt = torch.optim.SGD([scaled], lr=0.1)  # <-
""")

mistake("an optimizer given names", r"named_parameters|model\.parameters\(\)", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.state_dict(), lr=0.1)  # <-
""")

mistake("a negative learning rate", r"lr", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=-0.1)  # <-
""")

mistake("load_state_dict with the prefix of DataParallel", r"module\.", """
model = nn.Linear(2, 1)
state = {"module." + k: v for k, v in model.state_dict().items()}
model.load_state_dict(state)  # <-
""")

mistake("load_state_dict with other names", r"fc1\.weight", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 1)
model = Net()
model.load_state_dict({"fc_1.weight": torch.ones(1, 2), "fc1.bias": torch.ones(1)})  # <-
""")

mistake("load_state_dict with other shapes", r"out_features|shape", """
model = nn.Linear(2, 5)
model.load_state_dict({"weight": torch.ones(10, 2), "bias": torch.ones(10)})  # <-
""")

mistake("load_state_dict with a path", r"torch\.load\(", """
model = nn.Linear(2, 5)
model.load_state_dict("model.pt")  # <-
""")

mistake("an unknown keyword", r"dim", """
x = torch.randn(3, 4)
y = torch.sum(x, dims=1)  # <-
""")

mistake("an unknown keyword of a layer", r"kernel_size", """
conv = nn.Conv2d(3, 8, kernel=3)  # <-
""")

mistake("an unknown function", r"softmax", """
x = torch.randn(3, 4)
y = torch.sofmax(x, dim=1)  # <-
""")

mistake("an unknown method", r"view", """
x = torch.randn(3, 4)
y = x.veiw(12)  # <-
""")

mistake("a missing argument", r"dim", """
x = torch.randn(3, 4)
y = torch.unsqueeze(x)  # <-
""")

mistake("a size as a list of floats", r"int", """
x = torch.zeros(3 / 1, 2)  # <-
""")

mistake("a tensor where a number belongs", r"int", """
x = torch.randn(3, 4)
y = x.view("3", 4)  # <-
""")

mistake("a tuple from a recurrent layer", r"\[0\]|out, ", """
rnn = nn.LSTM(3, 4)
head = nn.Linear(4, 1)
out = rnn(torch.randn(5, 2, 3))
y = head(out)  # <-
""")

mistake("the input size of a recurrent layer", r"input_size", """
rnn = nn.LSTM(3, 4)  # <-
out, _ = rnn(torch.randn(5, 2, 7))  # <-
""")

mistake("heads that do not divide", r"divi", """
attention = nn.MultiheadAttention(10, 3)  # <-
""")

mistake("a parameter assigned a tensor", r"nn\.Parameter\(", """
layer = nn.Linear(2, 1)
layer.weight = torch.ones(1, 2)  # <-
""")

mistake("a device that is not there", r"is_available|cpu", """
x = torch.ones(3).to("cuda")  # <-
""")

mistake("a name of no device", r"cpu", """
x = torch.ones(3, device="gpu")  # <-
""")

mistake("a numpy array into a layer", r"from_numpy|torch\.tensor", """
layer = nn.Linear(3, 1)
y = layer(np.ones((2, 3), dtype=np.float32))  # <-
""")

mistake("integer labels for binary cross-entropy", r"y\.float\(\)", """
net = nn.Linear(4, 1)
x, y = torch.randn(8, 4), torch.randint(0, 2, (8, 1))
loss = nn.BCEWithLogitsLoss()(net(x), y)  # <-
""")

mistake("a dataset without a length", r"__len__", """
class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.zeros(3), i
loader = torch.utils.data.DataLoader(Rows(), batch_size=2, shuffle=True)  # <-
""")

mistake("a format of many elements", r"item\(\)", """
loss = torch.randn(3)
print(f"loss {loss:.4f}")  # <-
""")

mistake("the loss function in place of the loss", r"call it first", """
pred, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
loss = nn.CrossEntropyLoss(pred)
loss.backward()  # <-
""")

mistake("an index of too few dimensions", r"actions\.unsqueeze\(1\)", """
q = torch.randn(4, 3)
actions = torch.tensor([0, 1, 2, 0])
q.gather(1, actions)  # <-
""")

mistake("a value outside the support", r"support, IntegerInterval", """
actions = torch.distributions.Categorical(logits=torch.randn(3))
actions.log_prob(torch.tensor(7))  # <-
""")

mistake("a mode for other dimensions", r"'linear'", """
x = torch.randn(1, 3, 8)
F.interpolate(x, scale_factor=2, mode="bilinear")  # <-
""")
