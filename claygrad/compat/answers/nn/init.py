"""Private names of `torch.nn.init`: the public functions record nothing either."""
from claygrad.nn import init

_no_grad_uniform_ = init.uniform_
_no_grad_normal_ = init.normal_
_no_grad_trunc_normal_ = init.trunc_normal_
_no_grad_fill_ = init.constant_
_no_grad_zero_ = init.zeros_
