"""Mistakes in the shapes, dtypes and arguments of layers and losses. `# <-` marks the lines that the message must name."""

MISTAKES = {}


def mistake(name: str, way_out: str, program: str) -> None:
    MISTAKES[name] = (way_out, program.lstrip("\n"))


mistake("labels as floats", r"\.long\(\)", """
logits = torch.randn(4, 3)
target = torch.tensor([0., 1., 2., 1.])
loss = nn.CrossEntropyLoss()(logits, target)  # <-
""")

mistake("a bce of two shapes", r"squeeze", """
out = torch.sigmoid(torch.randn(8, 1))
y = torch.ones(8)
loss = nn.BCELoss()(out, y)  # <-
""")

mistake("classes in the last dimension", r"transpose\(1, 2\)", """
scores = torch.randn(2, 7, 11)
target = torch.randint(0, 11, (2, 7))
loss = nn.CrossEntropyLoss()(scores, target)  # <-
""")

mistake("weights for other classes", r"every class", """
loss = nn.CrossEntropyLoss(weight=torch.ones(4))(torch.randn(5, 3), torch.zeros(5, dtype=torch.long))  # <-
""")

mistake("a word for the reduction", r'"mean", "sum"', """
loss = F.mse_loss(torch.randn(3), torch.randn(3), reduction="average")  # <-
""")

mistake("the loss made with the data", r"nn\.MSELoss\(\)\(", """
out, y = torch.randn(3, requires_grad=True), torch.randn(3)
loss = nn.MSELoss(out, y)  # <-
""")

mistake("cosine embedding without a target", r"target", """
loss = nn.CosineEmbeddingLoss()(torch.randn(3, 4), torch.randn(3, 4))  # <-
""")

mistake("margins of other lengths", r"equal or 1|one shape|same", """
loss = nn.MarginRankingLoss()(torch.randn(3), torch.randn(3), torch.ones(2))  # <-
""")

mistake("a hidden state of another batch", r"layers \* directions|batch", """
rnn = nn.GRU(5, 7, batch_first=True)
h = torch.zeros(1, 3, 7)
out, h = rnn(torch.randn(4, 6, 5), h)  # <-
""")

mistake("an LSTM given one state", r"\(h_?0?, c_?0?\)|tuple of two|two", """
rnn = nn.LSTM(5, 7)
out, h = rnn(torch.randn(6, 4, 5), torch.zeros(1, 4, 7))  # <-
""")

mistake("a batch of flat sequences", r"batch|\(length", """
rnn = nn.LSTM(5, 7)
rnn(torch.randn(2, 3, 4, 5))  # <-
""")

mistake("the hidden state unpacked in the head", r"\[0\]|hidden", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(5, 7), nn.Linear(7, 2)
    def forward(self, x):
        out, hidden = self.rnn(x)
        return self.head(hidden)  # <-
Net()(torch.randn(6, 4, 5))
""")

mistake("a Sequential with an LSTM", r"\[0\]|tuple", """
model = nn.Sequential(nn.LSTM(5, 7), nn.Linear(7, 2))
model(torch.randn(6, 4, 5))  # <-
""")

mistake("packed lengths out of order", r"enforce_sorted=False", """
x = torch.randn(3, 5, 2)
nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 5, 3]), batch_first=True)  # <-
""")

mistake("lengths of zero", r"at least 1|empty|greater than 0|positive", """
x = torch.randn(3, 5, 2)
nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 2, 0]), batch_first=True)  # <-
""")

mistake("pad_sequence of a tensor and numbers", r"tensor", """
nn.utils.rnn.pad_sequence([torch.ones(3), [1.0, 2.0]])  # <-
""")

mistake("a key of another size for attention", r"embed_dim", """
attention = nn.MultiheadAttention(8, 2)
q = torch.randn(5, 3, 8)
attention(q, torch.randn(6, 3, 10), torch.randn(6, 3, 10))  # <-
""")

mistake("a mask of another shape for attention", r"\(5, 5\)|length", """
attention = nn.MultiheadAttention(8, 2)
x = torch.randn(5, 3, 8)
attention(x, x, x, attn_mask=torch.zeros(4, 4))  # <-
""")

mistake("a padding mask given as the attention mask", r"key_padding_mask", """
layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
x = torch.randn(3, 5, 8)
padding = torch.zeros(3, 5, dtype=torch.bool)
layer(x, padding)  # <-
""")

mistake("a transformer with other widths", r"d_model", """
model = nn.Transformer(d_model=16, nhead=4)
model(torch.randn(5, 2, 16), torch.randn(5, 2, 12))  # <-
""")

mistake("a transformer whose batches differ", r"batch", """
model = nn.Transformer(d_model=16, nhead=4, batch_first=True)
model(torch.randn(2, 5, 16), torch.randn(3, 5, 16))  # <-
""")

mistake("scaled dot products of other widths", r"last dimension|inner|embed|equal", """
q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 6), torch.randn(2, 4, 5, 6)
F.scaled_dot_product_attention(q, k, v)  # <-
""")

mistake("an embedding of a padding index outside", r"num_embeddings|0 to|within", """
nn.Embedding(10, 4, padding_idx=10)  # <-
""")

mistake("a negative index of an embedding", r"0 to 9|-1 came", """
table = nn.Embedding(10, 4)
table(torch.tensor([3, -1]))  # <-
""")

mistake("one-hot vectors into an embedding", r"long\(\)|argmax", """
table = nn.Embedding(10, 4)
one_hot = F.one_hot(torch.tensor([1, 2]), 10).float()
table(one_hot)  # <-
""")

mistake("one_hot of floats", r"long\(\)", """
F.one_hot(torch.tensor([0., 2.]), 3)  # <-
""")

mistake("one_hot of too few classes", r"num_classes", """
F.one_hot(torch.tensor([0, 3]), 3)  # <-
""")

mistake("an image of integers in a convolution", r"float\(\)", """
image = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8)
nn.Conv2d(3, 4, 3)(image)  # <-
""")

mistake("conv1d over features last", r"permute|transpose|in_channels", """
layer = nn.Conv1d(16, 8, 3)
layer(torch.randn(4, 50, 16))  # <-
""")

mistake("a transposed convolution of other channels", r"channels", """
layer = nn.ConvTranspose2d(8, 4, 2, stride=2)
layer(torch.randn(1, 4, 8, 8))  # <-
""")

mistake("a pool larger than the image", r"smaller|too small|padding", """
model = nn.Sequential(nn.MaxPool2d(4), nn.MaxPool2d(4))
model(torch.randn(1, 3, 8, 8))  # <-
""")

mistake("padding of a pool", r"half", """
nn.MaxPool2d(2, padding=2)(torch.randn(1, 3, 8, 8))  # <-
""")

mistake("reflect padding wider than the input", r"less than", """
F.pad(torch.randn(1, 1, 3), (4, 4), mode="reflect")  # <-
""")

mistake("padding of an odd number of sizes", r"pairs|two|even|\(left, right", """
F.pad(torch.randn(2, 3), (1, 2, 3))  # <-
""")

mistake("a skip connection of another size", r"equal or 1", """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
    def forward(self, x):
        return x + self.conv(x)  # <-
Block()(torch.randn(1, 3, 8, 8))
""")

mistake("a flatten that takes the batch along", r"in_features|flatten\(1\)|start_dim", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(48, 2)
    def forward(self, x):
        return self.fc(torch.flatten(x))  # <-
Net()(torch.randn(4, 3, 4, 4))
""")

mistake("dropout above one", r"between 0 and 1", """
nn.Dropout(50)  # <-
""")

mistake("groups that do not divide", r"groups", """
nn.Conv2d(3, 8, 3, groups=2)  # <-
""")

mistake("layer norm given the channels", r"last|normalized_shape", """
nn.LayerNorm(3)(torch.randn(2, 3, 8, 8))  # <-
""")

mistake("bilinear of one input", r"forward|input2", """
nn.Bilinear(3, 4, 5)(torch.randn(2, 3))  # <-
""")

mistake("upsample without a size", r"size|scale_factor", """
F.interpolate(torch.randn(1, 3, 4, 4))  # <-
""")

mistake("pixel shuffle of odd channels", r"upscale_factor", """
nn.PixelShuffle(3)(torch.randn(1, 8, 4, 4))  # <-
""")

mistake("a layer made with floats", r"int", """
hidden = 128 / 2
nn.Linear(hidden, 10)  # <-
""")

mistake("a layer made with a tuple", r"int", """
x = torch.randn(2, 3, 4)
nn.Linear(x.shape[1:], 10)  # <-
""")

mistake("a layer given as a class", r"nn\.ReLU\(\)|instance|brackets|call", """
model = nn.Sequential(nn.Linear(2, 3), nn.ReLU)  # <-
""")

mistake("a Sequential given a list", r"\*", """
layers = [nn.Linear(2, 3), nn.ReLU()]
model = nn.Sequential(layers)  # <-
""")

mistake("data where a layer is made", r"second call", """
x = torch.randn(3)
nn.Softmax(x)(x)  # <-
""")

mistake("softmax over a dimension that is not there", r"-1 to 0|-1 .* 0", """
F.softmax(torch.randn(3), dim=1)  # <-
""")

mistake("a list into a layer", r"torch\.tensor|torch\.stack", """
nn.Linear(2, 1)([[1.0, 2.0], [3.0, 4.0]])  # <-
""")

mistake("two arguments for one", r"forward", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x)
Net()(torch.randn(1, 2), torch.randn(1, 2))  # <-
""")

mistake("forward without self", r"self", """
class Net(nn.Module):
    def forward(x):
        return x
Net()(torch.randn(1, 2))  # <-
""")

mistake("a ModuleList called", r"for layer in|loop|Sequential", """
layers = nn.ModuleList([nn.Linear(2, 2)])
layers(torch.randn(1, 2))  # <-
""")

mistake("a name with a dot", r"\.", """
model = nn.Module()
model.add_module("fc.1", nn.Linear(2, 2))  # <-
""")

mistake("a buffer that is a number", r"torch\.tensor", """
model = nn.Module()
model.register_buffer("scale", 2.0)  # <-
""")

mistake("a parameter of integers", r"float|requires_grad=False", """
p = nn.Parameter(torch.arange(3))  # <-
""")

mistake("a tensor of parameters registered", r"nn\.Parameter", """
model = nn.Module()
model.register_parameter("w", torch.randn(3))  # <-
""")

mistake("half precision weights, float input", r"float16|half\(\)", """
model = nn.Linear(3, 2).half()
model(torch.randn(1, 3))  # <-
""")

mistake("a model of doubles, input of floats", r"double\(\)|float64", """
model = nn.Conv2d(1, 2, 3).double()
model(torch.randn(1, 1, 5, 5))  # <-
""")

mistake("huber of integers", r"float", """
F.huber_loss(torch.randn(3), torch.tensor([1, 2, 3]), delta=-1.0)  # <-
""")

mistake("ctc of a batch first", r"time, batch|\(time", """
scores = torch.randn(4, 50, 20).log_softmax(2)
F.ctc_loss(scores, torch.randint(1, 20, (4, 10)), torch.full((4,), 50), torch.full((4,), 10))  # <-
""")

mistake("kl of shapes that do not fit", r"equal or 1", """
F.kl_div(torch.randn(3, 4).log_softmax(1), torch.randn(4, 3).softmax(1))  # <-
""")

mistake("triplets of unequal widths", r"equal or 1|shape", """
nn.TripletMarginLoss()(torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 5))  # <-
""")
