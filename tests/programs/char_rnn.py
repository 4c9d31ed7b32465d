"""A letter-by-letter LSTM learns a rhyme and goes on with it."""
import torch
from torch import nn

TEXT = "the cat sat on the mat and the rat sat on the cat and the hat was flat on the mat. " * 3
letters = sorted(set(TEXT))
index = {letter: i for i, letter in enumerate(letters)}


class CharRNN(nn.Module):
    def __init__(self, size, hidden=48, layers=2):
        super().__init__()
        self.embed = nn.Embedding(size, 16)
        self.rnn = nn.LSTM(16, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, size)

    def forward(self, x, state=None):
        y, state = self.rnn(self.embed(x), state)
        return self.head(y), state


torch.manual_seed(0)
data = torch.tensor([index[letter] for letter in TEXT])
model = CharRNN(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
length, batch = 24, 8
for step in range(25):
    starts = torch.randint(0, len(data) - length - 1, (batch,))
    inputs = torch.stack([data[s:s + length] for s in starts])
    targets = torch.stack([data[s + 1:s + length + 1] for s in starts])
    optimizer.zero_grad(set_to_none=True)
    logits, _ = model(inputs)
    loss = criterion(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f} norm {norm.item():.4f}")

model.eval()
state, letter, written = None, torch.tensor([[index["t"]]]), "t"
with torch.no_grad():
    for _ in range(30):
        logits, state = model(letter, state)
        letter = logits[:, -1].argmax(-1, keepdim=True)
        written += letters[letter.item()]
print(written)
print("perplexity", round(torch.exp(criterion(model(data[None, :-1])[0][0], data[1:])).item(), 3))
