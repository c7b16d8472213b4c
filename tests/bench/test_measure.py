"""What a benchmark says of the machine and of the work it timed."""

import platform

import pytest

from smfh.bench.measure import Report, least_seconds, machine


@pytest.mark.parametrize(
    ("features", "said"), [("+avx2,+avx512f", "with AVX-512"), ("+avx2", "without AVX-512")]
)
def test_it_says_whether_avx_512_is_compiled_for(features, said, monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_FEATURES", features)
    processor, _, vectors, python = machine().rsplit(", ", 3)
    assert processor
    assert vectors == said
    assert python == f"Python {platform.python_version()}"


def test_sides_take_turns_and_the_first_call_of_each_is_not_counted():
    calls = []
    seconds = least_seconds({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=2)
    assert "".join(calls) == "ababab"
    assert seconds.keys() == {"a", "b"}
    assert all(0 <= value < 60 for value in seconds.values())


def test_a_ratio_stands_beside_what_was_compared():
    report = Report()
    report.compare("theirs/ours", 3.0, 2.0, "the same work")
    assert (report.ratios, report.notes) == ({"theirs/ours": 1.5}, {"theirs/ours": "the same work"})
