"""`torch.distributed.device_mesh`: the ranks as a grid, with a group along each of its axes."""

from __future__ import annotations

import math
from typing import Any

from claygrad._late import late
from claygrad.core import Tensor
from claygrad.core import device as device_class
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
        out = []
        for axis in range(self.mesh.dim()):
            mine = None
            name = self.mesh_dim_names[axis] if self.mesh_dim_names else f"dim_{axis}"
            for ranks in self.mesh.swapaxes(-1, axis).reshape(-1, self.mesh.shape[axis]).tolist():
                made = new_group(ranks, group_desc=f"mesh_{name}", sort_ranks=False)
                if not not_in(made):
                    mine = made
            out.append(mine)
        return out

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

    def _axis(self, mesh_dim: int | str | None, of: str) -> int:
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
        """The group along an axis that this rank is in."""
        return self._groups[self._axis(mesh_dim, "get_group")]

    def get_all_groups(self) -> list[Any]:
        """The groups of this rank along all axes."""
        return list(self._groups)

    def get_rank(self) -> int:
        """The number of this rank among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this rank along an axis."""
        axis = self._axis(mesh_dim, "get_local_rank")
        if self._coordinate is None:
            raise RuntimeError("Cannot get local rank: this rank is not in the mesh")
        return int(self._coordinate[axis])

    def get_coordinate(self) -> list[int] | None:
        """Where in the grid this rank is; None if it is not in it."""
        return None if self._coordinate is None else [int(n) for n in self._coordinate]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part along some axes that this rank is in."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        axes = []
        for name in names:
            if name not in self.mesh_dim_names:
                raise KeyError(
                    f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {list(self.mesh_dim_names)}."
                )
            axes.append(self.mesh_dim_names.index(name))
        if names == self.mesh_dim_names:
            return self
        where = self._coordinate or [0] * self.ndim
        part = self.mesh[tuple(slice(None) if axis in axes else where[axis] for axis in range(self.ndim))]
        kept = sorted(axes)
        part = part.permute([kept.index(axis) for axis in axes])
        groups = [self._groups[axis] for axis in axes]
        return DeviceMesh(self.device_type, part, mesh_dim_names=names, _groups=groups, _root=self._root or self)

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """All axes as one. All ranks call this."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        if self.ndim == 1:
            return self
        root = self._get_root_mesh()
        axes = [root._axis(one, "_flatten") for one in self.mesh_dim_names or ()] or list(range(root.ndim))
        rest = [axis for axis in range(root.ndim) if axis not in axes]
        grids = root.mesh.permute([*rest, *axes]).reshape(-1, math.prod(root.shape[axis] for axis in axes))
        mine = None
        for ranks in grids.tolist():
            made = new_group(ranks, group_desc=f"mesh_{name}", sort_ranks=False)
            if not not_in(made):
                mine = made
        flat = self.mesh.reshape(-1)
        return DeviceMesh(self.device_type, flat, mesh_dim_names=(name,), _groups=[mine], _root=root)

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """A mesh of groups that are there: of one, or of one for each axis of `mesh`."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if mesh is None:
            if len(groups) > 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = get_process_group_ranks(groups[0])
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    def __repr__(self) -> str:
        names = f", mesh_dim_names={self.mesh_dim_names}" if self.mesh_dim_names else ""
        return f"DeviceMesh('{self.device_type}', {self.mesh.tolist()}{names})"

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


__getattr__ = late(__name__)
