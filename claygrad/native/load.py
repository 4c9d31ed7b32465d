"""Load the native forms. Only the declarations in ops/ name them (core/dispatch/registry.pxd)."""
import importlib
import sys

from claygrad.core import ask_for_self

for _name in (
    "claygrad.native.elementwise",
    "claygrad.native.elementwise_params",
    "claygrad.native.elementwise_strided",
    "claygrad.native.reduce",
    "claygrad.native.view",
    "claygrad.native.ctc",
    "claygrad.native.factory_like",
    "claygrad.native.assign",
    "claygrad.native.attention",
    "claygrad.native.embedding",
    "claygrad.native.mask",
    "claygrad.native.conv",
    "claygrad.native.split",
    "claygrad.native.distance",
    "claygrad.native.unique",
    "claygrad.native.index_put",
    "claygrad.native.sort",
    "claygrad.native.linalg",
    "claygrad.native.fft",
    "claygrad.native.search",
    "claygrad.native.grid_sample",
    "claygrad.native.pad",
    "claygrad.native.getitem",
    "claygrad.native.layer_composites",
    "claygrad.native.linalg_ldl",
    "claygrad.core.graph.memory_ledger",
    "claygrad.native.loss",
    "claygrad.native.loss_composites",
    "claygrad.native.factory",
    "claygrad.native.matmul",
    "claygrad.native.statistics",
    "claygrad.native.rearrange",
    "claygrad.native.norm",
    "claygrad.native.scatter",
    "claygrad.native.random",
    "claygrad.native.rnn",
    "claygrad.native.interpolate",
    "claygrad.native.einsum",
    "claygrad.native.composites",
    "claygrad.native.pool",
):
    importlib.import_module(_name)

for _name, _module in list(sys.modules.items()):
    if _name.startswith(("claygrad.core.", "claygrad.native.")):
        for _value in list(vars(_module).values()):
            ask_for_self(_value)
