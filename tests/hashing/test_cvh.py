"""CVH is canonical correlation analysis, and its bits are sides of canonical directions."""

import numpy as np
import pytest

from smfh.hamming import unpack
from smfh.hashing.cvh import CVH
from smfh.types import InputError, MultimodalDataset

KNOWN = np.array([0.9, 0.7, 0.5, 0.2])  # canonical correlations
DIMENSIONS = {"image": 8, "text": 5}


def gaussian_pairs(seed: int, items: int = 2000) -> MultimodalDataset:
    """Two mixed Gaussian views whose k-th hidden coordinates correlate by KNOWN[k], moved to be positive."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((items, len(KNOWN)))
    modalities = {}
    for name, dimensions in DIMENSIONS.items():
        hidden = rng.standard_normal((items, dimensions))
        k = len(KNOWN)
        hidden[:, :k] = np.sqrt(KNOWN) * shared + np.sqrt(1 - KNOWN) * hidden[:, :k]
        modalities[name] = hidden @ rng.standard_normal((dimensions, dimensions)) + 30
    labels = np.stack([shared[:, 0] > 0, shared[:, 0] <= 0], axis=1)
    return MultimodalDataset("gaussian", modalities, labels, ("up", "down"))


def unit_rows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def inverse_root(C):
    values, vectors = np.linalg.eigh(C)
    return vectors / np.sqrt(values) @ vectors.T


def textbook_cca(X, Y):
    """Directions and correlations from Σ_xx^-½ Σ_xy Σ_yy^-½ = U diag(ρ) Vᵀ."""
    C = np.cov(np.hstack([X, Y]).T)
    d = X.shape[1]
    roots = inverse_root(C[:d, :d]), inverse_root(C[d:, d:])
    U, rho, Vt = np.linalg.svd(roots[0] @ C[:d, d:] @ roots[1], full_matrices=False)
    return roots[0] @ U, rho, roots[1] @ Vt.T


def correlation(a, b):
    return np.corrcoef(a, b)[0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_directions_equal_textbook_cca(seed):
    data = gaussian_pairs(seed)
    hasher = CVH(bits=5, ridge=1e-9).fit(data)
    X, Y = (unit_rows(x) for x in data.modalities.values())
    A, rho, B = textbook_cca(X, Y)
    margins = {name: hasher.functions[name].margins(x) for name, x in data.modalities.items()}
    for k in range(5):
        assert abs(correlation(margins["image"][:, k], X @ A[:, k])) == pytest.approx(1, abs=1e-4)
        assert abs(correlation(margins["text"][:, k], Y @ B[:, k])) == pytest.approx(1, abs=1e-4)
        assert correlation(margins["image"][:, k], margins["text"][:, k]) == pytest.approx(rho[k], abs=1e-5)
    assert hasher.trace[-1].objective == pytest.approx(rho.sum(), abs=1e-4)


def test_known_correlations_are_found():
    data = gaussian_pairs(0, items=20_000)
    # beside a large constant the other features of a unit row are what they were, to scale
    wide = {name: np.hstack([x, np.full((len(x), 1), 3000.0)]) for name, x in data.modalities.items()}
    data = MultimodalDataset("wide", wide, data.labels, data.class_names)
    hasher = CVH(bits=3, ridge=1e-9).fit(data)
    found = [
        correlation(*(hasher.functions[name].margins(x)[:, k] for name, x in data.modalities.items())) for k in range(3)
    ]
    np.testing.assert_allclose(found, KNOWN[:3], atol=0.03)


def test_bits_are_signs_of_projections():
    data = gaussian_pairs(1, items=300)
    hasher = CVH(bits=5).fit(data)
    for name, x in data.modalities.items():
        X = unit_rows(x)
        bits = unpack(hasher.database_codes[name], 5)
        np.testing.assert_array_equal(bits, hasher.functions[name].margins(x) > 0)
        np.testing.assert_array_equal(bits, (X - X.mean(axis=0)) @ hasher.functions[name].projection > 0)


def test_longer_codes_are_filled_with_uncorrelated_directions():
    data = gaussian_pairs(2)
    functions = CVH(bits=40, ridge=1e-9).fit(data).functions
    margins = {name: functions[name].margins(x) for name, x in data.modalities.items()}
    np.testing.assert_allclose(np.linalg.norm(margins["image"], axis=0), 1, atol=1e-3)
    between = np.corrcoef(margins["image"][:, 5:].T, margins["text"].T)[:35, 35:]
    assert np.abs(between).max() < 1e-3


def test_mixed_bits_weight_pairs_by_correlation():
    data = gaussian_pairs(2)
    plain, mixed = (CVH(bits=400, mixed=mixed, ridge=1e-9).fit(data) for mixed in (False, True))
    for name, x in data.modalities.items():
        pairs = plain.functions[name].margins(x)[:, :5]
        margins = mixed.functions[name].margins(x)
        shares, left, *_ = np.linalg.lstsq(pairs, margins, rcond=None)
        assert left.max() < 1e-6 * (margins**2).sum(axis=0).max()
        spread = shares.std(axis=1)
        rho = textbook_cca(*(unit_rows(x) for x in data.modalities.values()))[1]
        np.testing.assert_allclose(spread[:4], rho[:4], rtol=0.15)
    bits = {name: unpack(codes, 400) for name, codes in mixed.database_codes.items()}
    noise = {name: unpack(codes, 400) for name, codes in plain.database_codes.items()}
    assert np.mean(bits["image"] == bits["text"]) > np.mean(noise["image"] == noise["text"]) + 0.1


@pytest.mark.parametrize("value", [2, "yes", None])
def test_switches_accept_only_booleans(value):
    with pytest.raises(InputError, match=r"mixed \(G\)"):
        CVH(mixed=value)
