"""`torch.jit.annotations`: the words of annotations, as typing has them."""
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

from claygrad.compat.answers._jit_internal import (  # noqa: F401
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
)
