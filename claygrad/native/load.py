"""Load the native forms: nothing names them but the declarations in ops/, which ask for them by name (core/dispatch/registry.pxd)."""
import importlib
import sys

from claygrad.core import ask_for_self

for _name in (
    "claygrad.core.alignments",
    "claygrad.native.factory_like",
    "claygrad.native.assign",
    "claygrad.core.attend",
    "claygrad.core.bags",
    "claygrad.native.mask",
    "claygrad.core.convolve",
    "claygrad.native.split",
    "claygrad.core.distances",
    "claygrad.native.unique",
    "claygrad.native.index_put",
    "claygrad.native.sort",
    "claygrad.native.linalg_factor",
    "claygrad.native.fft",
    "claygrad.native.search",
    "claygrad.core.grid",
    "claygrad.native.pad",
    "claygrad.native.getitem",
    "claygrad.core.layers",
    "claygrad.native.linalg_ldl",
    "claygrad.core.graph.memory_ledger",
    "claygrad.core.losses",
    "claygrad.core.lossforms",
    "claygrad.native.factory",
    "claygrad.native.matmul",
    "claygrad.native.statistics",
    "claygrad.native.rearrange",
    "claygrad.core.norms",
    "claygrad.native.scatter",
    "claygrad.native.random",
    "claygrad.core.recurrent",
    "claygrad.core.resample",
    "claygrad.native.composites",
    "claygrad.core.windows",
):
    importlib.import_module(_name)

for _name, _module in list(sys.modules.items()):
    if _name.startswith(("claygrad.core.", "claygrad.native.")):
        for _value in list(vars(_module).values()):
            ask_for_self(_value)
