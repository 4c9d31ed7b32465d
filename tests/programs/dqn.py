"""Deep Q-learning on a corridor, with a replay memory, a target network and Huber loss; then REINFORCE on the same."""
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Corridor:
    """Walk right five times to win; the way is slippery."""

    def reset(self):
        self.place, self.steps = 0, 0
        return self.state()

    def state(self):
        return torch.tensor([[self.place / 5, self.steps / 20]])

    def step(self, action):
        self.steps += 1
        if random.random() > 0.1:
            self.place = max(0, self.place + (1 if action == 1 else -1))
        done = self.place >= 5 or self.steps >= 20
        return self.state(), 1.0 if self.place >= 5 else -0.05, done


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(2, 24)
        self.layer2 = nn.Linear(24, 24)
        self.layer3 = nn.Linear(24, 2)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


random.seed(0)
torch.manual_seed(0)
policy_net, target_net = DQN(), DQN()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=5e-3, amsgrad=True)
memory, steps_done, env = deque(maxlen=500), 0, Corridor()


def select_action(state):
    global steps_done
    threshold = 0.05 + 0.85 * math.exp(-steps_done / 100)
    steps_done += 1
    if random.random() > threshold:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def optimize_model():
    if len(memory) < 32:
        return None
    batch = Transition(*zip(*random.sample(memory, 32)))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(32)
    with torch.no_grad():
        next_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = next_values * 0.95 + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


for episode in range(14):
    state, done, loss, total = env.reset(), False, None, 0.0
    while not done:
        action = select_action(state)
        observation, reward, done = env.step(action.item())
        memory.append(Transition(state, action, None if done else observation, torch.tensor([reward])))
        state, total = observation, total + reward
        loss = optimize_model()
        target, policy = target_net.state_dict(), policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * 0.05 + target[key] * 0.95
        target_net.load_state_dict(target)
    if episode % 4 == 1:
        print(f"episode {episode} return {total:.2f} loss {loss if loss is None else round(loss, 5)}")
print(policy_net(torch.tensor([[0.0, 0.0], [0.8, 0.4]])))

torch.manual_seed(1)
actor = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2), nn.Softmax(dim=-1))
optimizer = torch.optim.RMSprop(actor.parameters(), lr=0.01)
for episode in range(6):
    state, done, log_probs, rewards = env.reset(), False, [], []
    while not done:
        choice = Categorical(actor(state))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    returns, R = deque(), 0.0
    for r in reversed(rewards):
        R = r + 0.95 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = torch.cat([-log_prob * R for log_prob, R in zip(log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"episode {episode} steps {len(rewards)} loss {loss.item():.4f}")
