"""`torch.cuda.amp`. By its name: mixed precision stands above this module."""
import importlib
import sys

sys.modules[__name__] = importlib.import_module("claygrad.amp.old_names")
