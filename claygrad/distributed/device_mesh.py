"""`torch.distributed.device_mesh`: the ranks as a grid, with a group along each of its axes."""

from __future__ import annotations

import math
from typing import Any

from claygrad._lazy import lazy
from claygrad.core import Tensor
from claygrad.core import device as device_class
from claygrad.core.cpython.entry_points import guard_package
from claygrad.distributed._group import (
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
    not_in,
)
from claygrad.ops.creation import tensor as new_tensor
from claygrad.ops.ranges import arange

__all__ = ["DeviceMesh", "init_device_mesh"]


def _group_of_this_rank(grids: list[list[int]], name: str) -> Any:
    """Groups of these ranks; the one that this rank is in, or None. All ranks call this."""
    mine = None
    for ranks in grids:
        out = new_group(ranks, group_desc=f"mesh_{name}", sort_ranks=False)
        if not not_in(out):
            mine = out
    return mine


class DeviceMesh:
    """Ranks in a grid. `mesh["dp"]` is the part along an axis that this rank is in, `get_group("dp")` its group."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _groups: list[Any] | None = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh: backend_override is not there\n  the engine is MPI for all axes")
        self.device_type = device_class(device_type).type
        self.mesh = mesh.detach().cpu().int() if isinstance(mesh, Tensor) else new_tensor(mesh).int()
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root = _root
        self._flat: dict[str, tuple[tuple[int, ...], DeviceMesh]] = {}  # of a root: the axes of what was flattened
        if not is_initialized():
            init_process_group()
        ranks = self.mesh.flatten().tolist()
        if len(ranks) > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found {len(ranks)} ranks!"
            )
        if len(set(ranks)) != len(ranks):
            raise RuntimeError(f"DeviceMesh cannot have duplicate values, but found {ranks}")
        found = (self.mesh == get_rank()).nonzero().tolist()
        self._coordinate = found[0] if found else None
        self._groups = self._make_groups() if _groups is None else _groups

    def _make_groups(self) -> list[Any]:
        """A group along each axis; all ranks make all of them, in one order."""
        if self.mesh.dim() == 1 and self.mesh.tolist() == list(range(get_world_size())):
            from claygrad.distributed._group import group

            return [group.WORLD]
        return [
            _group_of_this_rank(self.mesh.swapaxes(-1, axis).reshape(-1, self.mesh.shape[axis]).tolist(),
                                self.mesh_dim_names[axis] if self.mesh_dim_names else f"dim_{axis}")
            for axis in range(self.mesh.dim())
        ]

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks along each axis."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks, in all or along an axis."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def _axis(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                )
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
            raise KeyError(
                f"Invalid mesh_dim_names ('{mesh_dim}',) specified. Valid mesh_dim_names are "
                f"{list(self.mesh_dim_names or [])}."
            )
        return self.mesh_dim_names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group along an axis that this rank is in; the name may be that of axes that `_flatten` made one."""
        flat = self._get_root_mesh()._flat.get(mesh_dim) if isinstance(mesh_dim, str) else None
        found = flat[1]._groups[0] if flat else self._groups[self._axis(mesh_dim)]
        if found is None:
            raise RuntimeError(f"{self} has no group of rank {get_rank()}\n  the rank is not in the mesh")
        return found

    def get_all_groups(self) -> list[Any]:
        """The groups of this rank along all axes."""
        return list(self._groups)

    def get_rank(self) -> int:
        """The number of this rank among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this rank along an axis."""
        axis = self._axis(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError("Cannot get local rank: this rank is not in the mesh")
        return int(self._coordinate[axis])

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where in the grid this rank is; None if it is not in it."""
        return None if self._coordinate is None else tuple(int(n) for n in self._coordinate)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part along some axes that this rank is in."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if names == self.mesh_dim_names:
            return self
        valid = [*self.mesh_dim_names, *self._flat]
        if any(name not in valid for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}.")
        axes = [self._flat[name][0] if name in self._flat else (self.mesh_dim_names.index(name),) for name in names]
        order = [axis for part in axes for axis in part]
        if order != sorted(set(order)):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order."
            )
        where = self._coordinate or [0] * self.ndim
        part = self.mesh[tuple(slice(None) if axis in order else where[axis] for axis in range(self.ndim))]
        part = part.reshape([math.prod(self.shape[axis] for axis in one) for one in axes])
        groups = [self._flat[name][1]._groups[0] if name in self._flat else self._groups[one[0]]
                  for name, one in zip(names, axes)]
        return DeviceMesh(self.device_type, part, mesh_dim_names=names, _groups=groups, _root=self._get_root_mesh())

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """All axes as one, which the mesh that this is a part of knows by its name from now on. All ranks call this."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh: backend_override is not there\n  the engine is MPI for all axes")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        if self.ndim == 1 and name == self.mesh_dim_names[0]:
            return self
        root = self._get_root_mesh()
        axes = tuple(root._axis(one) for one in self.mesh_dim_names)
        if name in (root.mesh_dim_names or ()):
            raise ValueError(f"{name} already exists for submesh of the {root}. \n  give the flat axis another name")
        if name in root._flat:
            if root._flat[name][0] != axes:
                raise ValueError(
                    f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify another valid "
                    "mesh_dim_name."
                )
            return root._flat[name][1]
        rest = [axis for axis in range(root.ndim) if axis not in axes]
        grids = root.mesh.permute([*rest, *axes]).reshape(-1, math.prod(root.shape[axis] for axis in axes))
        group = _group_of_this_rank(grids.tolist(), name)
        flat = DeviceMesh(self.device_type, self.mesh.reshape(-1), mesh_dim_names=(name,), _groups=[group], _root=root)
        root._flat[name] = axes, flat
        return flat

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """A mesh of groups that are there: of one, or of one for each axis of `mesh`."""
        if not isinstance(group, (list, tuple)):
            ranks = get_process_group_ranks(group)
            if mesh is not None and new_tensor(mesh).tolist() != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])
        if not group:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        grid = mesh if isinstance(mesh, Tensor) else new_tensor(mesh)
        if grid.dim() != len(group):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got "
                f"mesh {grid.tolist()} and {len(group)} ProcessGroups"
            )
        return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names, _groups=list(group))

    def __repr__(self) -> str:
        shape = (", ".join(f"{name}={n}" for name, n in zip(self.mesh_dim_names, self.shape))
                 if self.mesh_dim_names else ", ".join(map(str, self.shape)) + "," * (self.ndim == 1))
        return f"DeviceMesh(({shape}), device: '{self.device_type}', stride: {tuple(self.mesh.stride())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        return (self.device_type, self.mesh_dim_names, self.mesh.tolist()) == (
            other.device_type,
            other.mesh_dim_names,
            other.mesh.tolist(),
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, tuple(self.mesh.flatten().tolist()), self.shape))

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing ends here."""


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in a grid of this shape, row by row; begins the default group if there is none."""
    shape = tuple(mesh_shape)
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique.",
                f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}",
            )
        if len(shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length!",
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(shape)}.",
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if not is_initialized():
        init_process_group()
    if math.prod(shape) != get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {get_world_size()}, but found {math.prod(shape)} ranks!"
            if math.prod(shape) > get_world_size()
            else f"a mesh of {shape} has {math.prod(shape)} of {get_world_size()} ranks\n  DeviceMesh takes a part"
        )
    grid = arange(math.prod(shape)).reshape(shape)
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names, backend_override=backend_override)


__getattr__ = lazy(__name__)

guard_package(__name__)          # Note [Entry points]
