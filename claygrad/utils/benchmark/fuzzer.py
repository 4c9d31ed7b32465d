"""`torch.utils.benchmark.Fuzzer`: tensors of random shapes and layouts to measure with, the same from the same seed."""
from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from claygrad.core import DTYPES, Tensor, dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def _top() -> Any:
    return importlib.import_module("claygrad")


class FuzzedParameter:
    """A number, or a choice, that is drawn anew for each set of tensors.

    distribution: "uniform" or "loguniform", from minval to maxval, or a dict of choices and their probabilities.
    strict: drawn once, and kept while the others are drawn again because a set was refused.
    """

    def __init__(self, name: str, minval: float | None = None, maxval: float | None = None,
                 distribution: str | dict[Any, float] | None = None, strict: bool = False) -> None:
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        if not isinstance(distribution, dict):
            if distribution not in ("loguniform", "uniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
        elif any(part < 0 for part in distribution.values()):
            raise AssertionError("Probabilities cannot be negative")
        elif abs(sum(distribution.values()) - 1) > 1e-5:
            raise AssertionError("Distribution is not normalized")
        elif minval is not None or maxval is not None:
            which = "minval" if minval is not None else "maxval"
            raise AssertionError(f"When passing a custom distribution, '{which}' must be None")
        self._distribution = distribution

    @property
    def name(self) -> str:
        """Under which tensors and constraints know it."""
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """A value of it."""
        if isinstance(self._distribution, dict):
            at = state.choice(np.arange(len(self._distribution)), p=tuple(self._distribution.values()))
            return list(self._distribution)[at]
        low, high = self._minval, self._maxval
        if low is None or high is None:
            raise ValueError(f"FuzzedParameter '{self._name}' needs minval and maxval")
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(np.log2(low), np.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low, high + 1))
        return state.uniform(low, high)


class ParameterAlias:
    """A choice of a parameter: the value of another one."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor of a size that parameters tell, sometimes in another layout.

    size, steps: ints or names of parameters; a step of 2 takes every second element of a larger tensor.
    dim_parameter: the parameter that tells how many of the sizes count. tensor_constructor(size=, dtype=, **parameters)
    makes the tensor. Sets whose tensors have fewer or more elements, or take more bytes, than allowed are drawn again.
    """

    def __init__(self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None,
                 probability_contiguous: float = 0.5, min_elements: int | None = None, max_elements: int | None = None,
                 max_allocation_bytes: int | None = None, dim_parameter: str | None = None,
                 roll_parameter: str | None = None, dtype: dtype = DTYPES["float32"], cuda: bool = False,
                 tensor_constructor: Callable[..., Tensor] | None = None) -> None:
        if roll_parameter is not None:
            raise NotImplementedError("FuzzedTensor(roll_parameter=...): nothing reads it, in PyTorch neither;\n"
                                      "  leave it out")
        self._name, self._size, self._steps, self._dtype, self._cuda = name, size, steps, dtype, cuda
        self._probability_contiguous, self._dim_parameter = probability_contiguous, dim_parameter
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes, self._tensor_constructor = max_allocation_bytes, tensor_constructor

    @property
    def name(self) -> str:
        """Under which it is handed out."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: dtype, **kwargs: Any) -> Tensor:
        """Random numbers from 0 to 1; of integers, from 1 to 126."""
        torch = _top()
        made: Tensor = (torch.rand(size=size, dtype=dtype) if dtype.is_floating_point or dtype.is_complex
                        else torch.randint(1, 127, size=size, dtype=dtype))
        return made

    def _sizes(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Size, steps, and the size of what is made before the steps are taken."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolve(values: tuple[str | int, ...]) -> tuple[int, ...]:
            found = tuple(params.get(str(one), one) for one in values)[:dim]
            return found + (1,) * (dim - len(found))

        size, steps = resolve(self._size), resolve(self._steps or ())
        return size, steps, tuple(int(n) * int(step) for n, step in zip(size, steps, strict=True))

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether a tensor of these parameters is as large as allowed."""
        size, _, allocated = self._sizes(params)
        count, taken = math.prod(map(int, size)), math.prod(allocated) * self._dtype.itemsize
        if count < 0:
            raise AssertionError("Computed number of elements is negative")
        return not ((self._max_elements is not None and count > self._max_elements)
                    or (self._min_elements is not None and count < self._min_elements)
                    or (self._max_allocation_bytes is not None and taken > self._max_allocation_bytes))

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, steps, allocated = self._sizes(params)
        make = self._tensor_constructor or self.default_tensor_constructor
        made = make(size=allocated, dtype=self._dtype, **params)
        if self._cuda:
            made = made.cuda()
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.all(order == np.arange(len(size))):
                order = state.permutation(made.dim())
            made = made.permute(tuple(order)).contiguous().permute(tuple(np.argsort(order)))
        tensor = made[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        return tensor, {"numel": int(tensor.numel()), "order": order, "steps": steps,
                        "is_contiguous": tensor.is_contiguous(), "dtype": str(self._dtype)}


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse COO tensor. The parameters `density` and `coalesced`, and `sparse_dim` if it is named, tell its form."""

    def __init__(self, name: str, size: tuple[str | int, ...], min_elements: int | None = None,
                 max_elements: int | None = None, dim_parameter: str | None = None, sparse_dim: str | None = None,
                 nnz: str | None = None, density: str | None = None, coalesced: str | None = None,
                 dtype: dtype = DTYPES["float32"], cuda: bool = False) -> None:
        super().__init__(name, size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter,
                         dtype=dtype, cuda=cuda)
        if nnz is not None:
            raise NotImplementedError("FuzzedSparseTensor(nnz=...): nothing reads it, in PyTorch neither;\n"
                                      "  density= tells how many elements there are")
        self._density, self._coalesced, self._sparse_dim = density, coalesced, sparse_dim

    @staticmethod
    def sparse_tensor_constructor(size: Any, dtype: dtype, sparse_dim: int, nnz: int, is_coalesced: bool) -> Tensor:
        """`nnz` elements at random; twice as many at the same indices if it is not coalesced."""
        torch = _top()
        size = [size] * sparse_dim if isinstance(size, (int, float)) else size
        if all(n <= 0 for n in size[:sparse_dim]) and nnz != 0:
            raise AssertionError("invalid arguments")
        values = FuzzedTensor.default_tensor_constructor([nnz, *size[sparse_dim:]], dtype)
        indices = torch.rand(sparse_dim, nnz)
        indices = indices.mul_(torch.tensor(size[:sparse_dim]).unsqueeze(1).to(indices)).to(torch.long)
        if not is_coalesced:
            values, indices = torch.cat([values, torch.randn_like(values)], 0), torch.cat([indices, indices], 1)
        made: Tensor = torch.sparse_coo_tensor(indices, values, torch.Size(size))
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size = self._sizes(params)[0]
        density, coalesced = params["density"], params["coalesced"]
        nnz = math.ceil(sum(size) * density)
        if nnz > sum(size):
            raise AssertionError("nnz cannot exceed total number of elements")
        sparse_dim = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        tensor = self.sparse_tensor_constructor(size, self._dtype, sparse_dim, nnz, coalesced)
        if self._cuda:
            tensor = tensor.cuda()
        return tensor, {"numel": int(tensor.numel()), "shape": tensor.size(), "is_coalesced": tensor.is_coalesced(),
                        "density": density, "sparsity": 1.0 - density, "sparse_dim": tensor.sparse_dim(),
                        "dense_dim": tensor.dense_dim(), "is_hybrid": len(size) > tensor.sparse_dim(),
                        "dtype": str(self._dtype)}


class Fuzzer:
    """Draws parameters until tensors and constraints accept them, and makes the tensors.

    constraints: functions of the dict of parameters; a set that one of them calls False is drawn again.
    """

    def __init__(self, parameters: Iterable[FuzzedParameter | list[FuzzedParameter]],
                 tensors: Iterable[FuzzedTensor | list[FuzzedTensor]],
                 constraints: list[Callable[[dict[str, Any]], bool]] | None = None, seed: int | None = None) -> None:
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters: list[FuzzedParameter] = _flat(parameters)
        self._tensors: list[FuzzedTensor] = _flat(tensors)
        self._constraints = constraints or []
        both = {one.name for one in self._parameters} & {one.name for one in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._rejections = self._total_generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """`n` sets: the tensors by their names, what they are like, and the parameters."""
        state = np.random.RandomState(self._seed)
        _top().manual_seed(int(state.randint(0, 2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {one.name: one._make_tensor(params, state) for one in self._tensors}
            yield ({name: tensor for name, (tensor, _) in made.items()},
                   {name: properties for name, (_, properties) in made.items()}, params)

    @property
    def rejection_rate(self) -> float:
        """The share of the sets drawn that were refused."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for _ in range(1000):
            params: dict[str, Any] = {}
            for one in self._parameters:
                params[one.name] = kept[one.name] if one.name in kept else one.sample(state)
                if one.strict:
                    kept[one.name] = params[one.name]
            params = _without_aliases(params)
            self._total_generated += 1
            if all(holds(params) for holds in self._constraints) and all(
                    one.satisfies_constraints(params) for one in self._tensors):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Iterable[Any]) -> list[Any]:
    return [one for each in values for one in (each if isinstance(each, (list, tuple)) else [each])]


def _without_aliases(params: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in params.items():
        seen = {name}
        while isinstance(value, ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            value = params[value.alias_to]
        found[name] = value
    return found
