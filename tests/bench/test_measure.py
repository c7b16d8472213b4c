"""What a benchmark says of the machine and of the work it timed."""

from smfh.bench.measure import least_seconds


def test_sides_alternate_and_first_calls_are_not_counted():
    calls = []
    seconds = least_seconds({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=2)
    assert "".join(calls) == "ababab"
    assert seconds.keys() == {"a", "b"}
    assert all(0 <= value < 60 for value in seconds.values())
