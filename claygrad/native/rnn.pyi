from typing import Any

def forward(cell: str, sizes: tuple[int, ...], reverse: bool, input: Any, states: tuple[Any, ...], w_ih: Any, w_hh: Any,
            b_ih: Any, b_hh: Any, relu: bool = False) -> tuple[Any, ...] | None: ...
def backward(cell: str, sizes: tuple[int, ...], reverse: bool, g_out: Any, g_states: tuple[Any, ...],
             kept: tuple[Any, ...], input: Any, states: tuple[Any, ...], w_ih: Any, w_hh: Any, needs: tuple[bool, ...],
             relu: bool = False) -> tuple[Any, ...] | None: ...
