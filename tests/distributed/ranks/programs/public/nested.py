"""A program that starts another, which wants to be a rank."""

import subprocess
import sys

import torch.distributed as dist

if "inner" in sys.argv:
    dist.init_process_group("gloo")
else:
    sys.exit(subprocess.run([sys.executable, "-m", "claygrad", "run", __file__, "inner"], check=False).returncode)
