"""Model files that were damaged, forged, or are something else."""

import json
import math

import numpy as np
import pytest

from smfh.files import read_npz, write_npz
from smfh.hashing import SMFHPlus, load_hasher, save_hasher
from smfh.types import InputError


@pytest.fixture(scope="module")
def saved(planted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    data, split = planted
    save_hasher(SMFHPlus(bits=8, iterations=3, anchors=30).fit(data.take(split.train)), path)
    return path


def forged(saved, tmp_path, change):
    """The saved model after `change(header, arrays)`."""
    arrays = read_npz(saved)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    path = tmp_path / "forged.npz"
    write_npz(path, arrays)
    return path


def test_an_untouched_copy_loads(saved, tmp_path):
    assert load_hasher(forged(saved, tmp_path, lambda header, arrays: None)).bits == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update(format="cat"), "the format cat"),
        (lambda h, a: h.update(version=99), "version 99"),
        (lambda h, a: h.update(method="md5"), "Unknown method 'md5'"),
        (lambda h, a: h["parameters"].update(bits=16), r"projection of 'image' must be .* \(30, 16\)"),
        (lambda h, a: h["parameters"].update(bits=10**9), "bits"),
        (lambda h, a: h["parameters"].update(surprise=1), "surprise"),
        (lambda h, a: h.pop("trace"), "trace"),
        (lambda h, a: h.update(trace=[{"iteration": 1}]), "not a model"),
        (lambda h, a: h.update(modalities=[]), "two modalities"),
        (lambda h, a: h.update(modalities=[1, 2]), "not a model"),
        (lambda h, a: h["modalities"][0].update(width=0), "an invalid width"),
        (lambda h, a: a.update({"0.codes": a["0.codes"][:-1]}), "same items"),
        (lambda h, a: a.update({"0.codes": a["0.codes"].astype(np.int64)}), "uint64"),
        (lambda h, a: a.update({"1.thresholds": a["1.thresholds"] * np.nan}), "NaN"),
        (lambda h, a: a.update({"1.anchors": a["1.anchors"][:, 1:]}), r"anchors of 'text'"),
        (lambda h, a: a.pop("1.projection"), "projection"),
        (lambda h, a: h["modalities"][0].update(dimensions=math.inf), "not a model"),
        (lambda h, a: h["modalities"][0].update(width=math.inf), "an invalid width"),
        (lambda h, a: h["modalities"][0].update(power=10**400), "not a model"),
        (lambda h, a: h["trace"][0].update(iteration=math.inf), "not a model"),
        (lambda h, a: h["trace"][0].update(seconds=math.nan), "not finite"),
        (lambda h, a: h["trace"][0].update(terms={"graph": 10**400}), "not a model"),
        (lambda h, a: h["parameters"].update(ridge=math.inf), "ridge"),
        (lambda h, a: h["parameters"].update(bits=10**400), "bits"),
    ],
)
def test_forged_models_are_refused_with_the_reason(saved, tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        load_hasher(forged(saved, tmp_path, change))


@pytest.mark.parametrize("part", ["format", "version", "method"])
def test_long_values_of_a_forged_model_are_shortened(saved, tmp_path, part):
    with pytest.raises(InputError) as refused:
        load_hasher(forged(saved, tmp_path, lambda h, a: h.update({part: "x" * 100_000})))
    assert len(str(refused.value)) < 400


def test_problems_of_many_forged_modalities_are_shortened(saved, tmp_path):
    def change(header, arrays):
        header["modalities"] = [header["modalities"][0] | {"name": f"{k} {'x' * 9_999}"} for k in range(300)]
        for k in range(300):
            arrays |= {f"{k}.{part}": np.zeros(1) for part in ("projection", "thresholds", "codes")}

    with pytest.raises(InputError, match="more problems") as refused:
        load_hasher(forged(saved, tmp_path, change))
    assert len(str(refused.value)) < 10_000


def test_too_large_models_are_refused_before_unpacking(saved, tmp_path):
    path = forged(saved, tmp_path, lambda h, a: a.update({"0.basis": np.zeros((1 << 20, 8))}))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match=r"needs 64\.\d MB .*; the limit is 32\.0 MB"):
        load_hasher(path, max_bytes=32 << 20)


def test_foreign_and_missing_files_are_refused(saved, tmp_path):
    foreign = tmp_path / "foreign.npz"
    write_npz(foreign, {"x": np.arange(3)})
    with pytest.raises(InputError, match="not a model"):
        load_hasher(foreign)
    with pytest.raises(InputError, match="No such file"):
        load_hasher(tmp_path / "nothing.npz")
    (tmp_path / "cut.npz").write_bytes(saved.read_bytes()[:-50])
    with pytest.raises(InputError, match="truncated"):
        load_hasher(tmp_path / "cut.npz")
