"""State dicts: what is in them, how they are read, and what is said when they do not fit."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from tests.nn.behaviour.layers import affine, nested
from tests.support import raises, warns


def test_a_state_has_parameters_and_lasting_buffers_and_the_versions_of_modules(lib):
    m = nested(lib)
    state = m.state_dict()
    assert type(state) is OrderedDict
    assert list(state)[:5] == ["0.weight", "0.bias", "0.count", "1.a.weight", "1.a.count"]
    assert state._metadata == OrderedDict((name, {"version": 1}) for name in ("", "0", "1", "1.a", "2", "2.0", "2.1", "2.2"))


def test_a_state_shares_memory_but_no_graph(lib):
    m = affine(lib)
    state = m.state_dict()
    assert state["weight"].data_ptr() == m.weight.data_ptr()
    assert not state["weight"].requires_grad
    assert m.state_dict(keep_vars=True)["weight"] is m.weight


def test_prefix_and_destination(lib):
    m, found = affine(lib), OrderedDict()
    assert m.state_dict(destination=found, prefix="p.") is found
    assert list(found) == ["p.weight", "p.bias", "p.count"]
    with warns(lib, "Positional args are being deprecated, use kwargs instead. …", FutureWarning):
        assert list(m.state_dict(OrderedDict(), "q.")) == ["q.weight", "q.bias", "q.count"]


def test_reading_copies_into_the_same_tensors(lib):
    m, other = nested(lib), nested(lib)
    weight, version = m[0].weight, m[0].weight._version
    with lib.no_grad():
        for p in other.parameters():
            p.fill_(7)
    result = m.load_state_dict(other.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert result.missing_keys == []
    assert m[0].weight is weight
    assert weight._version == version + 1
    assert weight[0, 0].item() == 7
    assert weight.requires_grad
    assert weight.is_leaf


def test_texts_of_what_does_not_fit(lib):
    m = nested(lib)
    state = m.state_dict()
    del state["0.weight"]
    state["zz"] = lib.ones(2)
    state["0.bias"] = lib.ones(7)
    state["1.a.count"] = 3
    text = ('Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "0.weight". \n\t'
            'Unexpected key(s) in state_dict: "zz". \n\t'
            "size mismatch for 0.bias: copying a param with shape torch.Size([7]) from checkpoint, the shape in "
            "current model is torch.Size([4]).\n\t"
            'While copying the parameter named "1.a.count", expected …')
    with raises(lib, RuntimeError, text):
        m.load_state_dict(state)
    with raises(lib, TypeError, "Expected state_dict to be dict-like, got <class 'int'>."):
        m.load_state_dict(3)


def test_without_strict_only_sizes_matter(lib):
    m = affine(lib)
    result = m.load_state_dict({"weight": lib.ones(4, 3), "more": lib.ones(1)}, strict=False)
    assert result.missing_keys == ["bias", "count"]
    assert result.unexpected_keys == ["more"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['bias', 'count'], unexpected_keys=['more'])"
    with raises(lib, RuntimeError, "Error(s) in loading state_dict for Affine:\n\tsize mismatch for bias: …"):
        m.load_state_dict({"bias": lib.ones(1)}, strict=False)


def test_what_was_read_before_an_error_stays_read(lib):
    m = affine(lib)
    with pytest.raises(RuntimeError):
        m.load_state_dict({"weight": lib.ones(4, 3), "bias": lib.ones(9), "count": lib.tensor(1)})
    assert m.weight[0, 0].item() == 1
    assert m.count.item() == 1


def test_assign_takes_the_tensors_themselves(lib):
    m = affine(lib)
    m.weight.requires_grad_(False)
    state = {"weight": lib.ones(4, 3), "bias": lib.nn.Parameter(lib.ones(4)), "count": lib.tensor(2)}
    m.load_state_dict(state, assign=True)
    assert m.weight.data_ptr() == state["weight"].data_ptr()
    assert type(m.weight) is lib.nn.Parameter
    assert not m.weight.requires_grad
    assert m.bias is state["bias"]
    assert m.count is state["count"]


def test_a_state_of_one_element_fits_a_tensor_without_axes(lib):
    m = affine(lib)
    m.load_state_dict({**m.state_dict(), "count": lib.tensor([9])})
    assert m.count.item() == 9
    assert m.count.shape == ()


def test_copying_to_meta_warns(lib):
    m = affine(lib).to("meta")
    state = affine(lib).state_dict()
    with warns(lib, "for weight: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
               "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
               "dictionary to their corresponding key in the module instead of copying them in place?)"):
        m.load_state_dict(state)
    assert m.weight.is_meta
    m.load_state_dict(state, assign=True)
    assert not m.weight.is_meta


def test_an_exception_while_copying_is_told(lib):
    m = affine(lib)
    m.weight.data = m.weight.data.expand(4, 3)
    other = m.weight[:1].detach()
    m.weight = lib.nn.Parameter(other.expand(4, 3))
    text = ('Error(s) in loading state_dict for Affine:\n\tWhile copying the parameter named "weight", whose '
            "dimensions in the model are torch.Size([4, 3]) and whose dimensions in the checkpoint are torch.Size([4, 3]), an "
            "exception occurred : ('unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. …")
    with raises(lib, RuntimeError, text):
        m.load_state_dict(affine(lib).state_dict())


def test_extra_state(lib):
    class Counts(lib.nn.Module):
        n = 3

        def get_extra_state(self):
            return {"n": self.n}

        def set_extra_state(self, state):
            self.n = state["n"]

    m, fresh = lib.nn.Sequential(Counts()), lib.nn.Sequential(Counts())
    m[0].n = 5
    state = m.state_dict()
    assert dict(state) == {"0._extra_state": {"n": 5}}
    fresh.load_state_dict(state)
    assert fresh[0].n == 5
    assert fresh.load_state_dict({}, strict=False).missing_keys == ["0._extra_state"]
    plain = lib.nn.Sequential(lib.nn.Module())
    assert plain.load_state_dict(state, strict=False).unexpected_keys == ["0._extra_state"]


def test_hooks_around_state_dict(lib):
    m, seen = nested(lib), []
    m[0].register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append((type(mod).__name__, prefix, keep)))
    handle = m[0].register_state_dict_post_hook(lambda mod, state, prefix, meta: state.__delitem__(prefix + "bias"))
    m._register_state_dict_hook(lambda mod, state, prefix, meta: OrderedDict(only=state["0.weight"]))
    assert list(m.state_dict()) == ["only"]
    assert seen == [("Affine", "0.", False)]
    handle.remove()
    m[1].register_state_dict_post_hook(lambda mod, state, prefix, meta: state)
    with raises(lib, RuntimeError, "state_dict post-hook must return None"):
        m.state_dict()


def test_hooks_around_load_state_dict(lib):
    m, seen = nested(lib), []

    def rename(mod, state, prefix, meta, strict, missing, unexpected, errors):
        seen.append(prefix)
        for key in list(state):
            if key.endswith("old"):
                state[key.replace("old", "weight")] = state.pop(key)

    m[0].register_load_state_dict_pre_hook(rename)
    state = m.state_dict()
    state["0.old"] = state.pop("0.weight") * 0
    m[0].register_load_state_dict_post_hook(lambda mod, keys: seen.append(keys.missing_keys[:]))
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.unexpected_keys.clear())
    del state["1.a.weight"]
    m.load_state_dict(state)
    assert seen == ["0.", []]
    assert m[0].weight.abs().sum().item() == 0
    m.register_load_state_dict_post_hook(lambda mod, keys: 1)
    with raises(lib, AssertionError, "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done inplace."):
        m.load_state_dict(state)


def test_a_class_can_read_older_versions_of_its_state(lib):
    class Second(lib.nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.w = lib.nn.Parameter(lib.zeros(1))

        def _load_from_state_dict(self, state, prefix, meta, *rest):
            if meta.get("version", 1) < 2:
                state[prefix + "w"] = state[prefix + "w"] * 10
            super()._load_from_state_dict(state, prefix, meta, *rest)

    m = lib.nn.Sequential(Second())
    m.load_state_dict(OrderedDict({"0.w": lib.ones(1)}))
    assert m[0].w.item() == 10
    m.load_state_dict(m.state_dict())
    assert m[0].w.item() == 10
