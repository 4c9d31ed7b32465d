"""`torch.jit`: what is scripted or traced stays Python and runs.

There is no second language to compile to: `script` and `trace` give back what they are given, as objects that behave
like PyTorch's where programs look at them. Graphs and files of scripted models are refused.
"""
from __future__ import annotations

from typing import Final

from claygrad.core.cpython.entry_points import guard_package
from claygrad._lazy import lazy
from claygrad.jit._functions import (
    ScriptFunction,
    _overload,
    _overload_method,
    annotate,
    enable_onednn_fusion,
    export,
    fork,
    freeze,
    fuser,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimize_for_inference,
    optimized_execution,
    run_frozen_optimizations,
    script,
    script_if_tracing,
    script_method,
    set_fusion_strategy,
    strict_fusion,
    trace,
    trace_module,
    unused,
    wait,
)
from claygrad.jit._modules import (
    Attribute,
    RecursiveScriptModule,
    ScriptModule,
    ScriptWarning,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
)
from claygrad.jit._files import Error, export_opnames, load, save

_script_if_tracing = script_if_tracing

__all__ = ["Attribute", "Error", "Final", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning",
           "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "annotate",
           "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze", "fuser", "ignore", "interface",
           "is_scripting", "is_tracing", "isinstance", "last_executed_optimized_graph", "load",
           "onednn_fusion_enabled", "optimize_for_inference", "optimized_execution", "run_frozen_optimizations", "save",
           "script", "script_if_tracing", "script_method", "set_fusion_strategy", "strict_fusion", "trace",
           "trace_module", "unused", "wait"]

__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
