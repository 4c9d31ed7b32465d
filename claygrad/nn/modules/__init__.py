"""Layers and containers, a family to a file."""
from claygrad.nn.modules.container import Container, ModuleDict, ModuleList, Sequential
from claygrad.nn.modules.lazy import LazyModuleMixin
from claygrad.nn.modules.module import Module
from claygrad.nn.modules.parameter_container import ParameterDict, ParameterList

__all__ = ["Container", "LazyModuleMixin", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
           "Sequential"]
