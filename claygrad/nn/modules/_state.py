"""A module's state: taking it out by name, and putting it in again."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from claygrad.autograd import no_grad
from claygrad.core import Tensor
from claygrad.core.graph.handles import RemovableHandle
from claygrad.core.user_warnings import warn
from claygrad.nn.modules._conversion import HOW
from claygrad.nn.modules._hooks import Hook, _WrappedHook
from claygrad.nn.parameter import Parameter, is_lazy
from claygrad.ops._swapping import swap_tensors

EXTRA = "_extra_state"
_NEVER = ("Reached a code path in Module.{}() that should never be called. Please file an issue at "
          "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")


class IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(IncompatibleKeys):
    """The names that a state lacked, and those that had no place in the module."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"{type(self).__name__}(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class Stateful:
    """The part of `Module` that writes and reads `state_dict`s."""

    _version: int = 1           # of the layout of the module's state: stored with it, for those who read old ones
    _parameters: dict[str, Any]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    # --- hooks and extra state ---------------------------------------------------------------------------------
    def get_extra_state(self) -> Any:
        """What besides tensors belongs to the state. To be overridden together with `set_extra_state`."""
        raise RuntimeError(_NEVER.format("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave."""
        raise RuntimeError(_NEVER.format("set_extra_state"))

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change the dict."""
        hook._from_public_api = True    # type: ignore[attr-defined]
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects anything."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before a state is read."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after a state was read; it may change the lists in place."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    # --- writing -----------------------------------------------------------------------------------------------
    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in own_state(self).items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and lasting buffers by their full names; they share memory with the module's.

        >>> list(claygrad.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warn("Positional args are being deprecated, use kwargs instead. Refer to "
                 "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
                 "details.", FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination") if destination is None else destination
            prefix = given.get("prefix", prefix) if prefix == "" else prefix
            keep_vars = given.get("keep_vars", keep_vars) if keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            out = hook(self, destination, prefix, local_metadata)
            if out is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = out
        return destination

    # --- reading -----------------------------------------------------------------------------------------------
    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = own_state(self)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = _load_one(self, name, key, tensor, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix):].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
                        ) -> _IncompatibleKeys:
        """Copy the tensors of a state into the module's, by name; with `assign`, put them in place of the module's.

        `strict` asks for the same names on both sides. The answer says which were missing and which had no place.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        _load_into(self, state, "", metadata, assign, _IncompatibleKeys(missing, unexpected), errors)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)


# Not a closure: a function that calls itself through its own cell is a cycle, which would keep the whole state until a
# collection.
def _load_into(module: Any, state: Any, prefix: str, metadata: Any, assign: bool, keys: _IncompatibleKeys,
               errors: list[str]) -> None:
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local, True, *keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = prefix + name + "."
            theirs = {key: value for key, value in state.items() if key.startswith(inner)}
            _load_into(child, theirs, inner, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not "
                                 "expected to return new values, if incompatible_keys need to be modified, it "
                                 "should be done inplace.")


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def own_state(module: Any) -> dict[str, Tensor]:
    """A module's own parameters and lasting buffers, by name."""
    state = {name: value for name, value in module._parameters.items() if value is not None}
    state.update((name, value) for name, value in module._buffers.items()
                 if value is not None and name not in module._non_persistent_buffers_set)
    return state


def _exchange(tensor: Tensor, given: Tensor, assign: bool) -> None:
    """Let a module's tensor hold what `module_load` makes of it and of the state's."""
    new = tensor.module_load(given, assign=assign)
    if new is tensor or new is given:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of "
                           "the inputs in module_load")
    if isinstance(tensor, Parameter):
        new = new if isinstance(new, Parameter) else Parameter(new)
        new.requires_grad_(tensor.requires_grad)
    swap_tensors(tensor, new)


def _load_one(module: Any, name: str, key: str, tensor: Tensor, given: Any, assign: bool) -> str | None:
    """Put a tensor of a state in its place. What went wrong, if anything did."""
    if not isinstance(given, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}")
    if not is_lazy(tensor):
        if tensor.ndim == 0 and given.shape == (1,):
            given = given[0]            # a scalar of a state from before there were tensors without axes
        if given.shape != tensor.shape:
            return (f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape "
                    f"in current model is {tensor.shape}.")
    if tensor.is_meta and not given.is_meta and not assign:
        warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
             "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
             "state dictionary to their corresponding key in the module instead of copying them in "
             "place?)")
    try:
        with no_grad():
            if HOW.swap:
                _exchange(tensor, given, assign)
                return None
            if not assign:
                if given.is_meta or not tensor.is_meta:
                    tensor.copy_(given)
                return None
            if isinstance(tensor, Parameter):
                if isinstance(given, Parameter):
                    given.requires_grad_(tensor.requires_grad)
                else:
                    given = Parameter(given, requires_grad=tensor.requires_grad)
            setattr(module, name, given)
    except Exception as failure:
        verb = "swapping" if HOW.swap else "copying"
        return (f'While {verb} the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {failure.args}.")
    return None
