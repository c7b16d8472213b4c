"""Inputs that the campaign found: readers raised another error on them before."""

import json

import pytest
from cases import CASES, MAX_MEGABYTES, MAX_SECONDS, inspect_apart
from readers import ATTRIBUTE_VALUES, CONFIRMED, PART, PASCAL, READERS, kept_ceiling, with_attributes

from smfh.types import InputError

HUGE = 10**400
CEILING = json.loads(kept_ceiling())
FIGURE = CONFIRMED["figures"][0]


def confirmed(**changes):
    return [*ATTRIBUTE_VALUES[:2], json.dumps(CONFIRMED | {"figures": [FIGURE | changes]}).encode()]


def trial(**changes):
    return json.dumps([PART | changes]).encode()


FOUND = {
    "a huge number": ("ceiling", json.dumps(CEILING | {"searches": [{**CEILING["searches"][0], "scores": HUGE}]})),
    "half a character": ("ceiling", json.dumps(CEILING | {"told": ["\ud800"]})),
    "a class of 4,400 digits": ("wiki", "t1\ti1\t" + "9" * 4400),
    "a name that is too long for a disk": ("pascal", json.dumps({"x" * 5000: PASCAL["a.jpg"]})),
    "a direction without figures": ("scores of a trial", trial(directions={"text → image": {}})),
    "no direction": ("scores of a trial", trial(directions={})),
    "figures that are words": ("scores of a trial", trial(directions={"a": {"found": "x"}})),
    "scores that are not JSON": ("studies, valid", [ATTRIBUTE_VALUES[0], b"{", ATTRIBUTE_VALUES[2]]),
    "an unknown measure": ("studies, valid", confirmed(measure="luck")),
    "a difference that is a word": ("studies, valid", confirmed(difference="")),
    "a difference of words": ("studies, valid", confirmed(difference={"first": 1})),
    "means that are words": ("studies, valid", confirmed(start=["x"])),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_found_input_is_refused(case, tmp_path):
    name, said = FOUND[case]
    content = with_attributes(said) if isinstance(said, list) else said
    with pytest.raises(InputError):
        READERS[name].read(content.encode() if isinstance(content, str) else content, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_small_file_takes_little_time_and_memory(case):
    cost = inspect_apart(case)
    assert cost.seconds < MAX_SECONDS
    assert cost.megabytes < MAX_MEGABYTES
