"""`torch._dynamo.eval_frame`: the module that `torch.compile` returns for a module."""
from claygrad.compat.refusing import always

is_dynamo_supported = is_inductor_supported = always(False)
