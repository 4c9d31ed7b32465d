"""`torch.utils.weak`: dictionaries whose keys are objects themselves, which they do not keep alive."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object alone, whatever the object says of equality."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)     # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        here = self()
        there = other() if isinstance(other, weakref.ref) else None
        return self is other if here is None or there is None else here is there


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by identity of the key; an entry goes when its key does."""

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: dict[Any, Any] = {}
        held = weakref.ref(self)

        def gone(ref: Any) -> None:
            owner = held()
            if owner is not None:
                owner.data.pop(ref, None)

        self._gone = gone
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._gone)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for ref in [*self.data] if (key := ref()) is not None])

    def __len__(self) -> int:
        return sum(ref() is not None for ref in [*self.data])

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        """The tensor, or None when it is gone."""
        return self.ref()
