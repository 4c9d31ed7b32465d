"""Prints what a rank finds around it."""

import json
import os
import sys

import torch

names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT"
if "--fail-first" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(7)
torch.distributed.init_process_group("mpi")
told = {name: os.environ.get(name) for name in names.split()}
told |= {"argv": sys.argv[1:], "threads": torch.get_num_threads(), "torch": torch.__name__, "name": __name__,
         "local": torch.distributed.get_node_local_rank(), "elastic": torch.distributed.is_torchelastic_launched()}
every = [None] * torch.distributed.get_world_size()
torch.distributed.all_gather_object(every, told)
if torch.distributed.get_rank() == 0:
    print(json.dumps(every))
