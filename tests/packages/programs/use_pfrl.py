"""Reinforcement learning of pfrl: a double DQN with replayed memories and a categorical one on a walk; layers of its networks."""
import numpy as np
import pfrl
import torch
from report import tell


class Walk:
    def reset(self):
        self.at, self.steps = 3, 0
        return self.seen()

    def seen(self):
        return np.eye(7, dtype=np.float32)[self.at]

    def step(self, action):
        self.at = min(6, max(0, self.at + (1 if action else -1)))
        self.steps += 1
        return self.seen(), float(self.at == 6), self.at in (0, 6), {}


def main():
    for kind in ("double", "categorical"):
        pfrl.utils.set_random_seed(0)
        if kind == "double":
            q = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2), pfrl.q_functions.DiscreteActionValueHead())
            maker = pfrl.agents.DoubleDQN
        else:
            q = pfrl.q_functions.DistributionalFCStateQFunctionWithDiscreteAction(7, 2, n_atoms=11, v_min=0, v_max=1, n_hidden_channels=16, n_hidden_layers=1)
            maker = pfrl.agents.CategoricalDQN
        agent = maker(q, torch.optim.Adam(q.parameters(), lr=0.01), pfrl.replay_buffers.ReplayBuffer(500), 0.9,
                      pfrl.explorers.ConstantEpsilonGreedy(0.3, random_action_func=lambda: int(np.random.randint(2))), replay_start_size=20,
                      minibatch_size=8, update_interval=1, target_update_interval=10, gpu=-1)
        env, total = Walk(), 0.0
        for _ in range(12):
            seen, done = env.reset(), False
            while not done and env.steps < 20:
                seen, reward, done, _ = env.step(agent.act(seen))
                total += reward
                agent.observe(seen, reward, done, env.steps >= 20)
        tell(kind, [total, sum(p.abs().sum().item() for p in q.parameters())])
        tell(f"{kind}.statistics", [float(value) for _, value in agent.get_statistics()][:3])


main()
