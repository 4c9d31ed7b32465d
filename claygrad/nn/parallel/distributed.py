"""`DistributedDataParallel`: claygrad runs in one process, so it refuses as PyTorch does where no group was made."""

from __future__ import annotations

from typing import Any, NoReturn

from claygrad._late import late
from claygrad.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """It is only a name in claygrad, for `isinstance` and annotations: there are no processes to average over."""

    only_a_name = "torch.nn.parallel.distributed.DistributedDataParallel"  # for `claygrad check`

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: Any = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> NoReturn:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group.\n"
            "  claygrad runs in one process;\n"
            "  instead: use the module itself"
        )


__getattr__ = late(__name__)
