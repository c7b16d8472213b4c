"""Values over a pipe that ends too early."""

from io import BytesIO

import numpy as np
import pytest

from smfh.jobs.channel import LARGE, Channel


def test_wherever_a_value_is_cut_off_the_other_end_is_gone():
    written = BytesIO()
    Channel(BytesIO(), written).send(("returned", {"large": np.zeros(LARGE, np.uint8), "small": np.ones(3)}))
    whole = written.getvalue()
    told, value = Channel(BytesIO(whole), BytesIO()).receive()
    assert (told, len(value["large"])) == ("returned", LARGE)
    for size in (*range(300), *range(300, len(whole) - 600, 997), *range(len(whole) - 600, len(whole))):
        with pytest.raises(EOFError):
            Channel(BytesIO(whole[:size]), BytesIO()).receive()
