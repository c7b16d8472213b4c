"""The codes of every method are pinned: whoever changes them must increase the method's version."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.hashing import METHODS, make_method

# {method: {version: SHA-256 of its codes}}
PINS = {
    "smfh-plus": {3: "af188823e5f89f5dd5a04e90e911f8ab0accfa364f661549cbed4a628d9293be"},
    "smfh": {1: "2458d8b04a26cbcb3f27e6dcd8bac967b9ff7d76d8df6b30cc15a0bd246a4707"},
    "cmfh": {1: "0b4e7a43ca36232383b4a59a6e557d134c579b294f99261080c41fcfe4369fb4"},
    "smh": {1: "9ddfeaf958237a850f2545fbea3065f8efbee809b978945f180e06a3a49d27d0"},
    "cvh": {1: "78db32638e51ddfa16d5c18d6e1e0270f58c48ee1bbab978c9bfa84c66168685"},
    "pdh": {1: "a6c1e8219a684258708a2fea6f555a4986e147ddbf26f6f9ec4d892ce8562ebf"},
    "dch": {1: "c4291223a34b328c8c8db058cfa8dd31fce759d77aa902ec8dad334d9f4452f4"},
    "scratch": {1: "495ce42859143ce4e20998b3ea8f0325a503392138d583eae02748dbf1509eb6"},
    "batch": {1: "2fb39e3c8e20a7c2db6ca14d54f8c409f98615be536f2edb19ebf1b0c48908d7"},
    "class-codes": {1: "afcd2fa874e6428eca19698f33152c31cd1523aa7a6fae978d679abda505f05d"},
    "smfh-program": {1: "4255d7ec3e7c551381ccaf5cc03cefe1f7594e871a01bd2e9f66de9a6c49747f"},
}


def codes_sha256(name: str) -> str:
    """Codes of training items and unseen items of a small, well separated set in double precision."""
    data, split = Planted(items=200, labels_per_item=2, sparse_text=True).load()
    double = replace(data, modalities={t: X.astype(np.float64) for t, X in data.modalities.items()})
    hasher = make_method(name, bits=24).fit(double.take(split.train))
    digest = hashlib.sha256()
    for t in hasher.modalities:
        digest.update(hasher.database_codes[t].tobytes())
        digest.update(hasher.encode(t, double.modalities[t][split.queries]).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", METHODS)
def test_codes_change_only_with_the_version(name):
    pins, version = PINS.get(name, {}), METHODS[name].version
    assert version in pins, f"Pin the codes of {name} version {version}: {codes_sha256(name)!r}"
    change = f"The codes of {name} have changed: increase {METHODS[name].__name__}.version and pin them."
    assert codes_sha256(name) == pins[version], change


@pytest.mark.slow
def test_pinned_codes_do_not_depend_on_the_processor():
    older = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "generic",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
    }
    command = [sys.executable, "-W", "ignore", __file__]
    printed = subprocess.run(command, env=os.environ | older, capture_output=True, text=True, check=True)
    assert dict(line.split() for line in printed.stdout.splitlines()) == {
        name: PINS[name][METHODS[name].version] for name in METHODS
    }


if __name__ == "__main__":  # prints the pins
    for method in METHODS:
        print(method, codes_sha256(method))
