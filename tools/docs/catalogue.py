"""Which public names the reference has, on which page. A test compares this with what the packages offer."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A page of the reference: operations of some families (files of claygrad/ops), or the names of some modules."""

    slug: str
    title: str
    about: str
    families: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def _families(names: str) -> tuple[str, ...]:
    return tuple(names.split())


PAGES = (
    Page("tensor", "Tensor", "The object itself: its attributes and methods."),
    Page("creation", "Creating tensors", "From data, filled with a number, as a range, at random.",
         families=_families("creation fill ranges random random_each exchange storages windows")),
    Page("elementwise", "Elementwise operations", "Arithmetic, functions, comparisons. Operands are broadcast; dtypes are promoted.",
         families=_families("arithmetic exponential rounding fused special gamma complex compare logic")),
    Page("reductions", "Reductions, order and statistics", "Sums, means, maxima, sorting, statistics.",
         families=_families("reduce extremum moments scan sort statistics histogram distance linalg_distance")),
    Page("shapes", "Shapes, views and joining", "Views share memory with their tensor; other results are copies.",
         families=_families("view part split shape join copies_of_views scatters pad assign")),
    Page("indexing", "Indexing, gathering and scattering", "Reading and writing elements by index or by mask.",
         families=_families("indexing choose scatter derived")),
    Page("matrices", "Products and matrices", "Products of vectors, matrices and batches; factorizations. torch.linalg has more.",
         families=_families("matmul matrix contraction products linalg_cholesky linalg_det linalg_lstsq linalg_lowrank linalg_lu "
                            "linalg_power linalg_qr linalg_solve linalg_spectral")),
    Page("layers", "Layers as functions of torch", "Functions of torch.nn.functional that PyTorch also has under torch.",
         families=_families("activation activation_hard bag conv conv_transpose ctc dropout embedding grid loss_forms norm_batch "
                            "norm_group norm_layer pixel pool pool_adaptive pool_max recurrent_cell recurrent_sequence softmax stft")),
    Page("torch", "Types, modes and settings", "Dtypes and devices, grad modes, seeds, threads, printing.",
         families=_families("cast protocol dense"), modules=("torch",)),
    Page("autograd", "torch.autograd", "Gradients: computing them, switching them off, functions with derivatives of their own, hooks.",
         modules=("autograd", "autograd.functional", "autograd.graph", "autograd.profiler", "func")),
    Page("nn", "torch.nn", "Modules: layers, losses, containers and their base classes.", modules=("nn",)),
    Page("nn-functional", "torch.nn.functional", "Layers and losses as functions.", modules=("nn.functional",)),
    Page("nn-init", "torch.nn.init", "Initialization of parameters.", modules=("nn.init",)),
    Page("nn-utils", "torch.nn.utils", "Clipping, packing, parametrizations.",
         modules=("nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.stateless")),
    Page("optim", "torch.optim", "Optimizers and learning-rate schedules.",
         modules=("optim", "optim.lr_scheduler", "optim.swa_utils")),
    Page("data", "torch.utils.data", "Datasets, samplers, and the loader that batches them.", modules=("utils.data",)),
    Page("distributions", "torch.distributions", "Random variables: draws, densities, divergences, transforms.",
         modules=("distributions", "distributions.transforms", "distributions.constraints")),
    Page("linalg", "torch.linalg", "Linear algebra, single matrices or batches of them.", modules=("linalg",)),
    Page("fft", "torch.fft", "Fourier transforms.", modules=("fft",)),
    Page("special", "torch.special", "Special functions.", modules=("special",)),
    Page("signal", "torch.signal.windows", "Window functions.", modules=("signal.windows",)),
    Page("masked", "torch.masked", "Reductions and normalizations with a mask.", modules=("masked",)),
    Page("sparse", "torch.sparse", "Sparse tensors.", modules=("sparse",)),
    Page("saving", "Saving and loading", "Checkpoints that both libraries read; safetensors.",
         modules=("serialization", "serialization.safetensors", "hub")),
    Page("amp", "torch.amp", "Mixed precision.", modules=("amp",)),
    Page("debug", "claygrad.debug", "Tools that explain a program. PyTorch has no counterpart.", modules=("debug", "memory")),
    Page("profiler", "torch.profiler and counters", "Profiling, and counting the operations of a model.",
         modules=("profiler", "utils.flop_counter", "utils.model_summary")),
    Page("distributed", "torch.distributed", "Several processes through MPI: collectives, messages, groups.",
         modules=("distributed", "nn.parallel")),
    Page("devices", "Devices", "Accelerators: torch.cuda and torch.accelerator. torch.xpu has the names of torch.cuda.",
         modules=("accelerator", "cuda")),
    Page("utils", "Other tools", "Activation checkpointing, TensorBoard, testing, quasi-random numbers, the array API.",
         modules=("utils.checkpoint", "utils.tensorboard", "testing", "quasirandom", "random", "array_api")),
    Page("systems", "Extending and compatibility", "Graphs of modules, custom operators, overrides, processes, compiling.",
         modules=("fx", "library", "overrides", "multiprocessing", "futures", "compiler", "jit", "backends", "types")),
)
