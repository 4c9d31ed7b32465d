"""Models and memory of skrl: a Gaussian policy and a value of one network, samples of a memory, a step of each."""
import gymnasium
import torch
from report import tell
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from torch import nn


class Policy(GaussianMixin, Model):
    def __init__(self, observation_space, action_space):
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        GaussianMixin.__init__(self, clip_actions=False)
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 2))
        self.log_std = nn.Parameter(torch.zeros(2))

    def compute(self, inputs, role=""):
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    def __init__(self, observation_space, action_space):
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 1))

    def compute(self, inputs, role=""):
        return self.net(inputs["observations"]), {}


def main():
    torch.manual_seed(0)
    seen, done = gymnasium.spaces.Box(-1, 1, (4,)), gymnasium.spaces.Box(-1, 1, (2,))
    policy, value = Policy(seen, done), Value(seen, done)
    memory = RandomMemory(memory_size=8, num_envs=2, device="cpu")
    memory.create_tensor("states", size=4, dtype=torch.float32)
    memory.create_tensor("rewards", size=1, dtype=torch.float32)
    for _ in range(8):
        memory.add_samples(states=torch.randn(2, 4), rewards=torch.randn(2, 1))
    states, rewards = memory.sample_all(["states", "rewards"])[0]
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-2)
    for _ in range(3):
        actions, outputs = policy.act({"observations": states}, role="policy")
        values = value.act({"observations": states}, role="value")[0]
        loss = -(outputs["log_prob"] * (rewards - values.detach())).mean() + (values - rewards).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    tell("actions", actions)
    tell("entropy", policy.get_entropy())


main()
