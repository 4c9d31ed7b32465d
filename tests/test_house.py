"""The rules of the house that a machine can check: sizes of files, directions of imports, names that must not be."""

from __future__ import annotations

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import claygrad
from claygrad.ops._registry import REGISTRY

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "claygrad"
OURS = ("claygrad", "tests", "benchmarks", "examples", "tools", "changes", ".ci")
CODE = {".py", ".pyx", ".pxd", ".hpp", ".cpp", ".h", ".c"}

# Imports point to a lower rank, or stay in the same part; parts of one rank do not see each other.
# A part is a folder of claygrad/ or a module beside them; claygrad/__init__.py only gathers, and may see all.
RANK = {
    "kernels": 0, "version": 0, "_lazy": 0,
    "core": 1, "native": 1.5,
    "errors": 1.5,       # loaded by the core when something fails
    "ops": 2, "_friends": 2, "_info": 2, "_printing": 2, "_settings": 2, "cpu": 2, "cuda": 2.5, "memory": 2, "random": 2,
    "profiler": 2, "devices": 1.75, "xpu": 2, "accelerator": 2,
    "autograd": 3, "_foreach": 3, "_legacy": 3, "fft": 3, "linalg": 3, "return_types": 3, "masked": 3, "quasirandom": 3, "signal": 3, "sparse": 3, "special": 3, "storage": 3,
    "nn": 4,
    "multiprocessing": 5, "optim": 5, "amp": 5, "distributions": 5, "serialization": 5, "backends": 5,
    "hub": 5.5, "utils": 6, "distributed": 6.5, "func": 6.5, "futures": 6, "overrides": 6, "types": 6,
    "compiler": 7, "jit": 7, "library": 7, "__config__": 7, "__future__": 7,
    "claygrad": 9,
    "testing": 10, "array_api": 10, "debug": 10,
    "compat": 10, "_override_forms": 10,        # loaded when asked for: they see the whole package
    "fx": 11,
    "cli": 11,
    "__main__": 12,
}

# Public operations without samples, by reason. (Inner ones, neither function nor method, are tested through others.)
UNSAMPLED = {
    "random: compared with PyTorch's streams": "rand randn randint randperm rand_like randn_like randint_like normal "
        "bernoulli multinomial uniform_ normal_ log_normal_ exponential_ cauchy_ geometric_ bernoulli_ random_ gumbel_softmax "
        "poisson binomial _standard_gamma _standard_gamma_grad _sample_dirichlet _dirichlet_grad",
    "PyTorch's refuses what is not contiguous; compared through group_norm": "native_group_norm",
    "networks: layer by layer among the operations, whole among the layers": "rnn_tanh rnn_relu gru lstm",
    "its gradient supposes a softmax before it: tests/ops/test_ctc.py": "ctc_loss",
    "iterates until it is near enough: tests/ops/test_lobpcg.py": "lobpcg",
    "in place alone": "resize_ resize_as_ set_ unsqueeze_ squeeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ detach_ "
        "zero_ apply_ map_ map2_ share_memory_ polygamma_ fill_diagonal_",
    "of sparse tensors: tests/sparse, tests/oracle/test_sparse_torch.py": "dim_order is_coalesced coalesce indices values crow_indices "
        "col_indices ccol_indices row_indices sparse_dim dense_dim to_sparse to_sparse_coo to_sparse_csr to_sparse_csc "
        "to_sparse_bsr to_sparse_bsc sparse_mask sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ smm sspaddmm "
        "_indices _values _nnz _dimI _dimV _coalesced_",
    "of layouts that claygrad's tensors do not have": "int_repr q_scale q_zero_point qscheme q_per_channel_scales q_per_channel_zero_points q_per_channel_axis "
        "ipu mtia to_mkldnn record_stream eig symeig solve lstsq storage const_data_ptr",
    "memory as elements: tests/oracle/test_typed_storages_torch.py": "_typed_storage storage_type from_file",
    "shared bytes and loading: tests/semantics/test_lazy_clones.py, tests/nn/behaviour/test_conversion_settings.py": "_lazy_clone "
        "_fix_weakref module_load",
    "protocols of Python, NumPy and DLPack": "__reduce_ex__ __setstate__ __deepcopy__ __dir__ __array_wrap__ __array_ufunc__ "
        "__array_namespace__ to_device __cuda_array_interface__ __dlpack__ __dlpack_device__ to_dlpack from_dlpack as_subclass "
        "is_pinned pin_memory",
    "what notebooks show: tests/test_display.py": "picture _repr_html_",
}

# A folder of somebody's machine, and addresses other than these, have no place in the tree.
HOSTS = {"discuss.pytorch.org", "docs.pytorch.org", "github.com", "pytorch.org",     # in warnings and errors of PyTorch's, whose texts are kept
         "www.w3.org"}                                                                # the name of SVG in a picture; nothing is fetched
MACHINE_FOLDERS = ("home", "root", "work", "opt", "tmp", "Users", "mnt")


def our_files(*suffixes: str) -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for folder in OURS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(path for path in found if not suffixes or path.suffix in suffixes)


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# Sizes

def test_no_file_is_longer_than_800_lines():
    sizes = {name_of(path): lines_of(path) for path in our_files(*CODE)}
    assert {name: size for name, size in sizes.items() if size > 800} == {}


def test_half_of_the_files_have_at_most_300_lines():
    sizes = [lines_of(path) for path in our_files(*CODE) if path.name != "__init__.py"]
    assert statistics.median(sizes) <= 300


# Directions

def python_imports(path: Path) -> Iterator[str]:
    """Full names of what a Python file imports when it runs; imports for type checkers alone do not count."""
    tree = ast.parse(path.read_text())
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    for_types = {node for block in blocks for node in ast.walk(block)}
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def cython_imports(path: Path) -> Iterator[str]:
    """Full names of what a Cython file imports or cimports."""
    text = re.sub(r"\\\n|\(\s*\n", " ", path.read_text())
    for match in re.finditer(r"^\s*from\s+([\w.]+)\s+c?import\s+([\w, ]+)", text, re.MULTILINE):
        for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", match[2]):
            yield f"{match[1]}.{name}"
    for match in re.finditer(r"^\s*c?import\s+([\w.]+)", text, re.MULTILINE):
        yield match[1]


def imports(path: Path) -> list[str]:
    return list(python_imports(path) if path.suffix == ".py" else cython_imports(path))


def part_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "claygrad" if parts == ("__init__",) else parts[0]


def part_named(module: str) -> str:
    """The part that `claygrad.x.y` belongs to; a bare name out of claygrad/__init__.py belongs to that."""
    name = module.split(".")[1] if "." in module else "claygrad"
    return name if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists() else "claygrad"


MODULES = [path for path in our_files(".py", ".pyx", ".pxd") if path.is_relative_to(PACKAGE)]


def test_every_part_has_a_rank():
    assert {part_of(path) for path in MODULES} | {"kernels", "claygrad"} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path):
    here = part_of(path)
    for module in imports(path):
        if module.split(".")[0] == "claygrad":
            there = part_named(module)
            if (here, there) == ("core", "native"):
                continue            # tests/core/test_ranks.py lists these
            assert here == there or RANK[there] < RANK[here], f"{here} must not import {there} ({module})"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_claygrad_never_imports_pytorch(path: Path):
    assert [module for module in imports(path) if module.split(".")[0] == "torch"] == []


def test_kernels_know_nothing_of_python():
    for path in our_files(".hpp", ".cpp"):
        assert "Python.h" not in path.read_text(), name_of(path)


def test_kernels_are_portable_outside_simd():
    """The instructions of a processor are in kernels/simd; what uses them elsewhere must compile without them (`make arm`)."""
    kernels = PACKAGE / "kernels"
    used = {path.relative_to(kernels).as_posix() for path in kernels.rglob("*.[hc]pp")
            if re.search(r"\b_mm(256|512)?_|\b__m(128|256|512)|immintrin|arm_neon|\b(float|u?int)\d+x\d+_t", path.read_text())}
    assert [path for path in sorted(used) if not path.startswith("simd/")] == []


# The readers of imports above, on cases that they must see

def test_a_relative_import_and_one_inside_a_function_are_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "claygrad" / "nn").mkdir(parents=True)
    file = tmp_path / "claygrad" / "nn" / "x.py"
    file.write_text("from ..optim import sgd\ndef f():\n    import torch\nfrom typing import TYPE_CHECKING\n"
                    "if TYPE_CHECKING:\n    from claygrad.tools import view\n")
    assert sorted(python_imports(file)) == ["claygrad.optim.sgd", "torch", "typing.TYPE_CHECKING"]


def test_a_cimport_is_seen(tmp_path):
    file = tmp_path / "x.pyx"
    file.write_text("from claygrad.core.tensor cimport Tensor, new as new_tensor\ncimport numpy as np\n"
                    "def f():\n    from claygrad.ops import add\n")
    assert sorted(cython_imports(file)) == ["claygrad.core.tensor.Tensor", "claygrad.core.tensor.new",
                                            "claygrad.ops.add", "numpy"]


# Declarations

PUBLIC = {name: said for name, said in REGISTRY.items() if said.public or said.method}


def test_every_public_operation_has_samples():
    without = {said.name for said in PUBLIC.values() if said.samples is None}
    assert without == set(" ".join(UNSAMPLED.values()).split())


def test_every_public_operation_has_a_documentation():
    assert [name for name, said in PUBLIC.items() if not said.fn.__doc__] == []


def test_every_composite_says_what_it_returns():
    composites = {name: said.fn for name, said in PUBLIC.items() if said.kind == "composite"}
    assert [name for name, fn in composites.items() if "return" not in fn.__annotations__] == []


# Names

def texts() -> Iterator[tuple[str, str]]:
    for path in our_files():
        try:
            yield name_of(path), path.read_text()
        except UnicodeDecodeError:
            continue        # data and objects


def test_no_file_names_a_folder_of_somebodys_machine():
    folder = re.compile(rf"(?<![\w.~*\])}}])/({'|'.join(MACHINE_FOLDERS)})/\w")
    assert [(name, match[0]) for name, text in texts() for match in folder.finditer(text)] == []


def test_no_file_names_a_host_that_is_not_listed():
    found = {(match[1], name) for name, text in texts() for match in re.finditer(r"https?://([\w.-]+)", text)}
    assert {(host, name) for host, name in found if host not in HOSTS} == set()


# The project file

def test_the_build_group_holds_what_the_build_system_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["build-system"]["requires"]) <= set(project["dependency-groups"]["build"])


def test_the_version_is_the_same_everywhere():
    match = re.search(r"^  version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)
    assert match is not None
    assert match[1] == claygrad.__version__


def test_the_map_of_the_compiled_parts_has_every_module():
    map_, _, _ = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding an operation")
    modules = {path.stem for folder in ("core", "native") for path in (PACKAGE / folder).rglob("*.pyx")}
    assert modules - set(re.findall(r"`(\w+)`", map_)) == set()


def test_a_news_fragment_is_named_after_its_subject_and_kind():
    kinds = {"feature", "fix", "change", "speed", "removal"}
    for path in (ROOT / "changes").glob("*.md"):
        if path.name != "README.md":
            assert re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(kinds)})\.md", path.name), path.name
            assert path.read_text().strip(), path.name
