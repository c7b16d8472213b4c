"""What the bits of a run stand for, asked once."""

from smfh.bits import BitTopic, describe_bits
from smfh.runs import Run
from smfh.ui.server import derive


def topics_of(run: Run) -> tuple[BitTopic, ...]:
    """Every bit, in the order of the bits."""
    return derive(
        run,
        "topics",
        lambda: describe_bits(run.hasher, run.data, run.split),
        "Asking each bit what it stands for …",
    )
