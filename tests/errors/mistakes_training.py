"""Mistakes around gradients, optimizers, schedulers and hooks. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("a scheduler given the model", r"optimizer", """
model = nn.Linear(2, 1)
torch.optim.lr_scheduler.StepLR(model, step_size=3)  # <-
""")

mistake("a plateau without the metric", r"metrics|loss", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
scheduler.step()  # <-
""")

mistake("one cycle without its length", r"total_steps|epochs", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1)  # <-
""")

mistake("one cycle stepped too often", r"total_steps", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=2)
for epoch in range(4):
    opt.step()
    scheduler.step()  # <-
""")

mistake("a cycle for an optimizer without momentum", r"cycle_momentum=False", """
opt = torch.optim.Adagrad(nn.Linear(2, 1).parameters(), lr=0.1)
torch.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.2)  # <-
""")

mistake("a lambda for each of other groups", r"group|one function|list of", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
torch.optim.lr_scheduler.LambdaLR(opt, [lambda e: 1.0, lambda e: 0.5])  # <-
""")

mistake("milestones as a number", r"list|milestones", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
torch.optim.lr_scheduler.MultiStepLR(opt, milestones=30)  # <-
""")

mistake("sequential schedulers without enough milestones", r"milestone", """
opt = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
S = torch.optim.lr_scheduler
a, b = S.ConstantLR(opt), S.ExponentialLR(opt, 0.9)
S.SequentialLR(opt, [a, b], milestones=[1, 2])  # <-
""")

mistake("an optimizer without the model", r"model\.parameters\(\)|params", """
opt = torch.optim.Adam(lr=0.1)  # <-
""")

mistake("an optimizer that is not there", r"AdamW|Adam", """
opt = torch.optim.AdamWW([torch.zeros(2, requires_grad=True)])  # <-
""")

mistake("betas as one number", r"betas", """
opt = torch.optim.Adam([torch.zeros(2, requires_grad=True)], betas=0.9)  # <-
""")

mistake("a parameter in two groups", r"one group", """
model = nn.Linear(2, 1)
torch.optim.SGD([{"params": model.parameters()}, {"params": [model.weight]}], lr=0.1)  # <-
""")

mistake("the state of another optimizer", r"same (groups|parameters)|same", """
a = torch.optim.Adam(nn.Linear(2, 1).parameters())
b = torch.optim.Adam(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)).parameters())
b.load_state_dict(a.state_dict())  # <-
""")

mistake("LBFGS without a closure", r"closure|function", """
opt = torch.optim.LBFGS([torch.zeros(2, requires_grad=True)])
opt.step()  # <-
""")

mistake("nesterov without momentum", r"momentum", """
torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1, nesterov=True)  # <-
""")

mistake("clip_grad of the model", r"model\.parameters\(\)", """
model = nn.Linear(2, 1)
model(torch.ones(1, 2)).sum().backward()
nn.utils.clip_grad_norm_(model, 1.0)  # <-
""")

mistake("clip_grad without a limit", r"max_norm", """
model = nn.Linear(2, 1)
nn.utils.clip_grad_norm_(model.parameters())  # <-
""")

mistake("clip_grad of infinite gradients", r"clamp|learning rate|finite|error_if_nonfinite", """
w = torch.zeros(2, requires_grad=True)
w.sqrt().sum().backward()
nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)  # <-
""")

mistake("a gradient of another dtype", r"dtype", """
w = torch.zeros(2, requires_grad=True)
w.grad = torch.zeros(2, dtype=torch.float64)  # <-
""")

mistake("a gradient that is a list", r"tensor", """
w = torch.zeros(2, requires_grad=True)
w.grad = [0.0, 0.0]  # <-
""")

mistake("backward with a number", r"torch\.tensor|tensor", """
w = torch.ones(2, requires_grad=True)
(w * 2).sum().backward(1.0)  # <-
""")

mistake("backward in no_grad", r"no_grad", """
model = nn.Linear(2, 1)
with torch.no_grad():
    loss = model(torch.ones(1, 2)).sum()  # <-
    loss.backward()  # <-
""")

mistake("a loss of predictions", r"argmax", """
model = nn.Linear(4, 3)
x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
pred = model(x).argmax(dim=1)  # <-
loss = F.mse_loss(pred.float(), y.float())
loss.backward()  # <-
""")

mistake("a loss rounded", r"round|no gradient|requires_grad", """
model = nn.Linear(4, 1)
out = model(torch.randn(5, 4)).round().int()  # <-
loss = out.float().mean()
loss.backward()  # <-
""")

mistake("a loss from a list of items", r"item\(\)", """
model = nn.Linear(4, 1)
losses = []
for k in range(3):
    losses.append(model(torch.randn(5, 4)).mean().item())  # <-
loss = torch.tensor(losses).sum()
loss.backward()  # <-
""")

mistake("requires_grad set after the forward", r"before", """
w = torch.randn(3)
loss = (w * 2).sum()
w.requires_grad_()
loss.backward()  # <-
""")

mistake("a double backward without a graph", r"create_graph=True", """
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x)  # <-
g.sum().backward()  # <-
""")

mistake("grad of a copy", r"allow_unused=True", """
x = torch.ones(2, requires_grad=True)
y = x.clone()
loss = (x ** 2).sum()
torch.autograd.grad(loss, y)  # <-
""")

mistake("grad of many outputs", r"grad_outputs|sum\(\)", """
x = torch.ones(3, requires_grad=True)
torch.autograd.grad(x ** 2, x)  # <-
""")

mistake("retain_graph left out for two losses", r"retain_graph=True|add", """
x = torch.ones(3, requires_grad=True)
h = (x ** 2).exp()  # <-
a, b = h.sum(), h.mean()
a.backward()  # <-
b.backward()  # <-
""")

mistake("a Function with an instance method", r"staticmethod|static", """
class Double(torch.autograd.Function):
    def forward(self, ctx, x):
        return x * 2
    def backward(self, ctx, g):
        return g * 2
Double.apply(torch.ones(2, requires_grad=True))  # <-
""")

mistake("a Function without backward", r"backward", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
Double.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <-
""")

mistake("a Function that returns a number", r"tensor|Tensor", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return 2.0
Double.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <-
""")

mistake("a Function that saves a number", r"ctx\.", """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k
    @staticmethod
    def backward(ctx, g):
        return g, None
Scale.apply(torch.ones(2, requires_grad=True), 3.0)  # <-
""")

mistake("too many gradients from a Function", r"one gradient for each", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g, g
Double.apply(torch.ones(2, requires_grad=True)).sum().backward()  # <-
""")

mistake("a hook on a tensor without grad", r"requires_grad", """
x = torch.ones(2)
x.register_hook(lambda g: g * 2)  # <-
""")

mistake("a hook of two parameters on a tensor", r"one argument|the gradient|parameter", """
x = torch.ones(2, requires_grad=True)
def hook(module, grad):
    return grad
x.register_hook(hook)
(x * 2).sum().backward()  # <-
""")

mistake("a forward hook of one parameter", r"module, (args|input|inputs), output", """
model = nn.Linear(2, 2)
model.register_forward_hook(lambda out: None)
model(torch.ones(1, 2))  # <-
""")

mistake("a leaf filled in place", r"no_grad", """
w = torch.zeros(3, requires_grad=True)
w.fill_(1.0)  # <-
""")

mistake("a parameter updated without no_grad", r"no_grad", """
w = torch.zeros(3, requires_grad=True)
(w * 2).sum().backward()
w -= 0.1 * w.grad  # <-
""")

mistake("an out= of something that requires grad", r"out=", """
w = torch.ones(2, requires_grad=True)
out = torch.empty(2)
torch.add(w, 1, out=out)  # <-
""")

mistake("an inference tensor trained", r"clone\(\)|no_grad", """
with torch.inference_mode():
    x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
(w * x).sum().backward()  # <-
""")

mistake("a gradient scaler stepped twice", r"update", """
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=True)
scaler.scale(model(torch.ones(1, 2)).sum()).backward()
scaler.unscale_(opt)
scaler.unscale_(opt)  # <-
""")

mistake("autocast of a device that is no string", r'"cpu"', """
with torch.autocast(True):  # <-
    pass
""")

mistake("checkpoint of a result", r"function|callable|brackets", """
checkpoint = torch.utils.checkpoint.checkpoint
layer = nn.Linear(2, 2)
x = torch.ones(1, 2, requires_grad=True)
checkpoint(layer(x), x, use_reentrant=False)  # <-
""")

mistake("a model moved to a GPU that is not there", r"is_available|cpu", """
model = nn.Linear(2, 2)
model.cuda()  # <-
""")

mistake("a batch moved to a GPU that is not there", r"is_available|cpu", """
x = torch.ones(2).to("cuda")  # <-
""")

mistake("values of a meta model", r"to_empty|cpu", """
model = nn.Linear(2, 2, device="meta")
print(model.weight[0, 0].item())  # <-
""")

mistake("a distribution of a negative scale", r"above 0|constraint|positive", """
torch.distributions.Normal(torch.zeros(2), torch.tensor([1.0, -1.0]))  # <-
""")

mistake("log_prob of another shape", r"equal or 1|broadcast", """
d = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
d.log_prob(torch.zeros(4))  # <-
""")

mistake("probabilities and logits", r"one of|probs", """
torch.distributions.Categorical(probs=torch.ones(3), logits=torch.ones(3))  # <-
""")

mistake("rsample of a categorical", r"sample\(\)|gumbel|log_prob", """
torch.distributions.Categorical(torch.ones(3)).rsample()  # <-
""")

mistake("a covariance that is none", r"eye|positive|symmetric", """
torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 2.0], [2.0, 1.0]]))  # <-
""")

mistake("initialisation of a bias", r"zeros_", """
nn.init.kaiming_normal_(nn.Linear(2, 3).bias)  # <-
""")

mistake("an unknown nonlinearity", r"relu|tanh", """
nn.init.calculate_gain("swish")  # <-
""")

mistake("vector to parameters of another length", r"elements|length|size", """
model = nn.Linear(2, 2)
nn.utils.vector_to_parameters(torch.zeros(5), model.parameters())  # <-
""")

mistake("the vector given as a list", r"torch\.tensor|parameters_to_vector|tensor", """
model = nn.Linear(2, 2)
nn.utils.vector_to_parameters([0.0] * 6, model.parameters())  # <-
""")
