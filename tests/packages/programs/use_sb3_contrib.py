"""Reinforcement learning of sb3-contrib: quantile regression, trust regions and truncated critics on small problems."""
import warnings

import torch
from report import tell
from sb3_contrib import QRDQN, TQC, TRPO


def main():
    warnings.simplefilter("ignore")
    for kind, world, options in (
            (QRDQN, "CartPole-v1", {"learning_starts": 20, "batch_size": 16, "train_freq": 4, "buffer_size": 200}),
            (TRPO, "CartPole-v1", {"n_steps": 64, "batch_size": 32, "cg_max_steps": 4, "n_critic_updates": 2}),
            (TQC, "Pendulum-v1", {"learning_starts": 20, "batch_size": 16, "train_freq": 8, "buffer_size": 200})):
        model = kind("MlpPolicy", world, seed=1, device="cpu", policy_kwargs={"net_arch": [16]}, **options)
        model.learn(64)
        first = next(iter(model.policy.parameters()))
        tell(kind.__name__, first)
        if kind is not TRPO:
            tell("loss", float(model.logger.name_to_value.get("train/loss", model.logger.name_to_value.get("train/critic_loss", 0.0))))
    tell("threads", torch.get_num_threads() > 0)


main()
