"""Networks, a PPO loss with generalized advantages and a replay buffer of torchrl."""
import torch
from report import tell
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value.functional import generalized_advantage_estimate


def main():
    torch.manual_seed(0)
    net = MLP(4, 3, num_cells=[16], activation_class=torch.nn.Tanh)
    actor = ProbabilisticActor(TensorDictModule(net, ["observation"], ["logits"]), in_keys=["logits"],
                               distribution_class=torch.distributions.Categorical, return_log_prob=True)
    critic = ValueOperator(MLP(4, 1, num_cells=[16]), ["observation"])
    steps = TensorDict({"observation": torch.randn(2, 8, 4)}, [2, 8])
    with torch.no_grad():
        actor(steps)
    steps["next"] = TensorDict({"observation": torch.randn(2, 8, 4), "reward": torch.randn(2, 8, 1),
                                "done": torch.zeros(2, 8, 1, dtype=torch.bool),
                                "terminated": torch.zeros(2, 8, 1, dtype=torch.bool)}, [2, 8])
    with torch.no_grad():
        value, following = critic(steps)["state_value"], critic(steps["next"])["state_value"]
    after = steps["next"]
    steps["advantage"], steps["value_target"] = generalized_advantage_estimate(0.9, 0.95, value, following, after["reward"], after["done"])
    tell("advantage", steps["advantage"])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    for _ in range(2):
        found = loss(steps)
        total = found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        tell("loss", total)
    buffer = ReplayBuffer(storage=LazyTensorStorage(16), batch_size=4)
    buffer.extend(steps.reshape(-1).select("observation"))
    tell("stored", buffer[:5]["observation"])


main()
