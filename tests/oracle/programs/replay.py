"""Q-learning with a replay memory and a target network that follows slowly."""

import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(4)
random.seed(4)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, n):
        self.memory = deque(maxlen=n)

    def push(self, *a):
        self.memory.append(Transition(*a))

    def sample(self, n):
        return random.sample(self.memory, n)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n, a):
        super().__init__()
        self.layer1 = nn.Linear(n, 64)
        self.layer2 = nn.Linear(64, 64)
        self.layer3 = nn.Linear(64, a)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
policy, target = (DQN(4, 2).to(device), DQN(4, 2).to(device))
target.load_state_dict(policy.state_dict())
opt = optim.AdamW(policy.parameters(), lr=0.001, amsgrad=True)
memory = ReplayMemory(500)


def env_step(state, a):
    n = 0.9 * state + 0.1 * torch.tensor([[1.0, -1.0, 0.5, 0.2]]) * (2 * a.item() - 1)
    r = torch.tensor([1.0 - n.abs().sum().item()], device=device)
    return (n, r, n.abs().max().item() > 1.2)


done_steps = 0
for ep in range(6):
    state = torch.randn(1, 4) * 0.3
    for t in range(25):
        eps = 0.05 + 0.85 * math.exp(-done_steps / 50)
        done_steps += 1
        if random.random() > eps:
            with torch.no_grad():
                action = policy(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)
        nxt, reward, end = env_step(state, action)
        nxt = None if end else nxt
        memory.push(state, action, nxt, reward)
        state = nxt
        if len(memory) >= 16:
            batch = Transition(*zip(*memory.sample(16)))
            mask = torch.tensor(tuple(s is not None for s in batch.next_state), device=device, dtype=torch.bool)
            nonfinal = torch.cat([s for s in batch.next_state if s is not None])
            q = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
            nv = torch.zeros(16, device=device)
            with torch.no_grad():
                nv[mask] = target(nonfinal).max(1).values
            loss = nn.SmoothL1Loss()(q, (nv * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
            opt.step()
            tsd, psd = (target.state_dict(), policy.state_dict())
            for key in psd:
                tsd[key] = psd[key] * 0.005 + tsd[key] * 0.995
            target.load_state_dict(tsd)
            if t % 6 == 0:
                print(ep, t, loss.item(), q.mean().item())
        if end:
            break
print(sum(p.sum().item() for p in target.parameters()))
