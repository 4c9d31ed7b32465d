"""PPO, A2C, DQN and SAC of stable-baselines3 on small environments, for some hundred steps."""
import gymnasium as gym
import numpy as np
from gymnasium import spaces
from report import tell
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.evaluation import evaluate_policy


class Walk(gym.Env):
    """A point on a line is to reach the origin."""

    def __init__(self, continuous=False):
        self.observation_space = spaces.Box(-5, 5, (1,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32) if continuous else spaces.Discrete(3)
        self.continuous = continuous

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-3, 3), 0
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place = float(np.clip(self.place + (float(action[0]) if self.continuous else 0.5 * (int(action) - 1)), -5, 5))
        self.steps += 1
        return np.array([self.place], np.float32), -abs(self.place), abs(self.place) < 0.1, self.steps >= 20, {}


def main():
    places = np.linspace(-3, 3, 7, dtype=np.float32)[:, None]
    for kind, continuous, options in ((PPO, False, {"n_steps": 64, "batch_size": 32}), (A2C, False, {}),
                                      (DQN, False, {"learning_starts": 50, "target_update_interval": 50}),
                                      (SAC, True, {"learning_starts": 50})):
        model = kind("MlpPolicy", Walk(continuous), seed=0, device="cpu", policy_kwargs={"net_arch": [16]}, **options)
        model.learn(160)
        tell(f"{kind.__name__} actions", model.predict(places, deterministic=True)[0])
        tell(f"{kind.__name__} weights", next(iter(model.policy.parameters())))
        mean, deviation = evaluate_policy(model, Walk(continuous), 3, warn=False)
        tell(f"{kind.__name__} evaluated", int(mean < 0))


main()
