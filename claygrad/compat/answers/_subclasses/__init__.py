"""`torch._subclasses`: tensors of compilers."""
