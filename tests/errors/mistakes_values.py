"""Classic mistakes with shapes, dtypes, devices and indices. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("broadcasting", r"unsqueeze|\[:, None\]|equal or 1", """
a = torch.randn(3, 4)  # <-
b = torch.randn(3)  # <-
c = a + b  # <-
""")

mistake("broadcasting in a method", r"equal or 1|unsqueeze", """
a = torch.randn(5, 4)
b = torch.randn(5, 3)
c = a.mul(b)  # <-
""")

mistake("matmul", r"transpose|\.T|\.mT", """
a = torch.randn(3, 4)  # <-
b = torch.randn(3, 4)  # <-
c = a @ b  # <-
""")

mistake("matmul of batches", r"inner|last .* of", """
a = torch.randn(2, 3, 4)
b = torch.randn(2, 5, 6)
c = torch.bmm(a, b)  # <-
""")

mistake("matrix times matrix as dot", r"@|matmul", """
a = torch.randn(3, 4)
b = torch.randn(4, 3)
c = torch.dot(a, b)  # <-
""")

mistake("linear", r"in_features|flatten", """
model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(30, 2))  # <-
out = model(torch.randn(4, 10))  # <-
""")

mistake("linear after a convolution", r"flatten|in_features", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc = nn.Linear(100, 10)  # <-
    def forward(self, x):
        x = self.conv(x).relu()
        return self.fc(x.flatten(1))  # <-
model = Net()
model(torch.randn(2, 1, 28, 28))
""")

mistake("channels of a convolution", r"permute|in_channels", """
conv = nn.Conv2d(3, 8, 3)  # <-
images = torch.randn(2, 28, 28, 3)
out = conv(images)  # <-
""")

mistake("a batch of vectors for a convolution", r"channels|unsqueeze|view", """
conv = nn.Conv2d(1, 8, 3)
out = conv(torch.randn(32, 784))  # <-
""")

mistake("a kernel larger than the image", r"padding|smaller kernel", """
conv = nn.Conv2d(1, 4, 5)
out = conv(torch.randn(1, 1, 3, 3))  # <-
""")

mistake("cat along the wrong dimension", r"dim=|equal in all", """
a = torch.randn(2, 3)  # <-
b = torch.randn(2, 5)  # <-
c = torch.cat([a, b])  # <-
""")

mistake("stack of unequal shapes", r"cat|pad", """
a = torch.randn(3)
b = torch.randn(4)
c = torch.stack([a, b])  # <-
""")

mistake("view to a wrong size", r"-1|12 elements", """
x = torch.randn(3, 4)
y = x.view(5, 2)  # <-
""")

mistake("view of a transposed tensor", r"reshape", """
x = torch.randn(3, 4)
y = x.t().view(12)  # <-
""")

mistake("reshape with two unknowns", r"one", """
x = torch.randn(3, 4)
y = x.reshape(-1, -1)  # <-
""")

mistake("squeezed shapes in batch norm", r"BatchNorm1d|num_features|4D", """
norm = nn.BatchNorm2d(3)
y = norm(torch.randn(4, 3))  # <-
""")

mistake("features of batch norm", r"num_features|5", """
norm = nn.BatchNorm1d(5)  # <-
y = norm(torch.randn(4, 8))  # <-
""")

mistake("batch norm of one sample", r"eval\(\)|larger batch|drop_last", """
norm = nn.BatchNorm1d(5)
y = norm(torch.randn(1, 5))  # <-
""")

mistake("layer norm", r"last", """
norm = nn.LayerNorm(8)  # <-
y = norm(torch.randn(4, 10))  # <-
""")

mistake("group norm", r"divi", """
norm = nn.GroupNorm(3, 8)  # <-
""")

mistake("class indices as floats", r"\.long\(\)", """
logits = torch.randn(4, 3)
target = torch.tensor([0., 2., 1., 0.])
loss = F.cross_entropy(logits, target)  # <-
""")

mistake("class indices in a column", r"squeeze\(1\)|squeeze", """
logits = torch.randn(4, 3)
target = torch.tensor([[0], [2], [1], [0]])
loss = F.cross_entropy(logits, target)  # <-
""")

mistake("one-hot targets as integers", r"argmax\(1\)|float\(\)", """
logits = torch.randn(4, 3)
target = F.one_hot(torch.tensor([0, 2, 1, 0]), 3)
loss = nn.CrossEntropyLoss()(logits, target)  # <-
""")

mistake("a class out of range", r"0 .* 2|classes", """
logits = torch.randn(4, 3)
target = torch.tensor([0, 2, 3, 1])
loss = F.cross_entropy(logits, target)  # <-
""")

mistake("another number of targets", r"one .* each|batch", """
logits = torch.randn(4, 3)
target = torch.tensor([0, 2, 1])
loss = F.cross_entropy(logits, target)  # <-
""")

mistake("bce of logits", r"sigmoid|with_logits", """
logits = torch.randn(4) * 5
target = torch.ones(4)
loss = F.binary_cross_entropy(logits, target)  # <-
""")

mistake("bce with targets of another shape", r"squeeze|unsqueeze", """
out = torch.rand(4, 1)
target = torch.ones(4)
loss = nn.BCELoss()(out, target)  # <-
""")

mistake("bce with integer targets", r"float\(\)", """
out = torch.rand(4)
target = torch.tensor([1, 0, 1, 0])
loss = F.binary_cross_entropy(out, target)  # <-
""")

mistake("nll of three-dimensional input", r"class", """
scores = torch.randn(2, 5, 3)
target = torch.zeros(2, 5, dtype=torch.long)
loss = F.nll_loss(scores, target)  # <-
""")

mistake("mse of unequal lengths", r"unsqueeze|squeeze|equal", """
out = torch.randn(8, 2)
target = torch.randn(8, 3)
loss = F.mse_loss(out, target)  # <-
""")

mistake("float and double", r"float\(\)|dtype|double", """
layer = nn.Linear(3, 2)
x = torch.tensor(np.ones((4, 3)))  # <-
y = layer(x)  # <-
""")

mistake("integers into a layer", r"float\(\)", """
layer = nn.Linear(3, 2)
y = layer(torch.ones(4, 3, dtype=torch.long))  # <-
""")

mistake("two dtypes in matmul", r"\.to\(|float\(\)|double\(\)", """
a = torch.randn(3, 3)
b = torch.randn(3, 3, dtype=torch.float64)
c = a @ b  # <-
""")

mistake("mean of integers", r"float", """
x = torch.arange(5)
m = x.mean()  # <-
""")

mistake("another device", r"\.to\(", """
a = torch.ones(3)  # <-
b = torch.ones(3, device="meta")  # <-
c = a + b  # <-
""")

mistake("an index out of range", r"-3 .* 2|0 .* 2", """
x = torch.arange(3)
y = x[3]  # <-
""")

mistake("a dimension out of range", r"dim", """
x = torch.randn(3, 4)
y = x.sum(2)  # <-
""")

mistake("too many indices", r"dimension", """
x = torch.randn(3, 4)
y = x[0, 1, 2]  # <-
""")

mistake("a float as an index", r"int|long\(\)", """
x = torch.randn(3)
i = torch.tensor([0.0, 1.0])
y = x[i]  # <-
""")

mistake("an embedding out of range", r"num_embeddings|0 .* 9", """
table = nn.Embedding(10, 4)  # <-
words = torch.tensor([[1, 2], [10, 3]])
y = table(words)  # <-
""")

mistake("floats into an embedding", r"long\(\)", """
table = nn.Embedding(10, 4)
y = table(torch.tensor([1.0, 2.0]))  # <-
""")

mistake("gather out of range", r"0 .* 2|size 3", """
x = torch.randn(2, 3)
y = torch.gather(x, 1, torch.tensor([[0], [3]]))  # <-
""")

mistake("a mask of another shape", r"shape", """
x = torch.randn(3, 4)
y = x[torch.tensor([True, False])]  # <-
""")

mistake("rows of unequal length", r"length|pad", """
x = torch.tensor([[1, 2, 3], [4, 5]])  # <-
""")

mistake("a list of arrays of tensors", r"stack", """
x = torch.tensor([torch.ones(2), torch.ones(2)])  # <-
""")

mistake("a tensor and a string", r"number|tensor", """
x = torch.ones(3)
y = x + "1"  # <-
""")

mistake("assigning another shape", r"\(2,\)|2", """
x = torch.zeros(3, 4)
x[:, 0] = torch.ones(2)  # <-
""")
