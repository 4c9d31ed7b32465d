"""On the path while numbers are recorded from PyTorch: torchvision imports there without its compiled part.

The wheels of torchvision are made for PyTorch with CUDA, and their compiled part does not load beside the build for the CPU.
torchvision's Python parts go on without it, but for one file that describes two operations of the absent part to PyTorch.
"""
import importlib.abc
import importlib.machinery
import sys

ABSENT = ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
          "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_kept = []


class BeforeTorchvision(importlib.abc.MetaPathFinder):
    """Names the two operations when torchvision is imported; finds nothing itself."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "torchvision" and not _kept:
            import torch
            _kept.append(torch.library.Library("torchvision", "DEF"))
            for schema in ABSENT:
                _kept[0].define(schema)


sys.meta_path.insert(0, BeforeTorchvision())
