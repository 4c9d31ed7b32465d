"""Files of the format before PyTorch 1.6, and plain pickles of PyTorch's tensors, which have it inside."""
import io
import pickle
import subprocess
import sys
import warnings

import pytest

import claygrad

torch = pytest.importorskip("torch")


def _old(thing) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(thing, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def _things():
    x = torch.arange(12, dtype=torch.int16).reshape(3, 4)
    return {"turned": x.t(), "part": x[1:], "half": torch.ones(2, dtype=torch.bfloat16), "complex": torch.ones(2) * 1j,
            "empty": torch.empty(0, 3), "weights": torch.nn.Linear(3, 2).state_dict(), "number": 3, "list": [torch.ones(())]}


@pytest.mark.parametrize("weights_only", [True, False])
def test_old_files(weights_only: bool, tmp_path) -> None:
    things = _things()
    (tmp_path / "old.pt").write_bytes(_old(things))
    for source in (tmp_path / "old.pt", io.BytesIO(_old(things))):
        found = claygrad.load(source, weights_only=weights_only)
        for name in ("turned", "part", "half", "complex", "empty"):
            assert found[name].shape == things[name].shape
            assert found[name].stride() == things[name].stride()
            assert found[name].tolist() == things[name].tolist()
        assert found["part"].untyped_storage().data_ptr() == found["turned"].untyped_storage().data_ptr()
        assert found["weights"]["weight"].tolist() == things["weights"]["weight"].tolist()
        assert found["number"] == 3
        assert found["list"][0].item() == 1


def test_modules_in_old_files_and_other_places() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    data = _old(model)
    assert claygrad.load(io.BytesIO(data), weights_only=False)[0].weight.tolist() == model[0].weight.tolist()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        claygrad.load(io.BytesIO(data))
    assert claygrad.load(io.BytesIO(_old(torch.ones(2))), map_location="meta").is_meta


def test_damaged_files_are_refused() -> None:
    data = _old({"a": torch.arange(4.0)})
    for end in range(1, len(data)):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            claygrad.load(io.BytesIO(data[:end]))


def test_plain_pickles(tmp_path) -> None:
    model = torch.nn.Linear(2, 2)
    with open(tmp_path / "plain", "wb") as file:
        pickle.dump({"a": torch.arange(6.0).reshape(2, 3).t(), "model": model}, file)
    said = subprocess.run([sys.executable, "-P", "-W", "error", "-c", f"""
import pickle, claygrad
claygrad.as_torch()
found = pickle.load(open({str(tmp_path / 'plain')!r}, "rb"))
print(found["a"].tolist(), found["a"].stride(), found["model"].weight.tolist())
"""], capture_output=True, text=True, check=False)
    assert said.stdout.strip() == f"[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] (1, 3) {model.weight.tolist()}", said.stderr
