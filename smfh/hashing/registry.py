"""METHODS: every method is entered here once, and so gets its command, controls and tests."""

from typing import Any

from smfh.hashing.base import HashMethod
from smfh.hashing.batch import BATCH
from smfh.hashing.cmfh import CMFH
from smfh.hashing.cvh import CVH
from smfh.hashing.dch import DCH
from smfh.hashing.pdh import PDH
from smfh.hashing.program import SMFHProgram
from smfh.hashing.scratch import SCRATCH
from smfh.hashing.smfh import SMFH
from smfh.hashing.smfh_plus import SMFHPlus
from smfh.hashing.smh import SMH
from smfh.types import unknown

METHODS: dict[str, type[HashMethod]] = {
    method.name: method for method in (SMFHPlus, SMFH, CMFH, SMH, CVH, PDH, DCH, SCRATCH, BATCH, SMFHProgram)
}
COMPARED = tuple(name for name in METHODS if name != SMFHProgram.name)  # where nothing else is asked for


def make_method(name: str, **fields: Any) -> HashMethod:
    """The method of this name with these parameters; what is not given keeps its default."""
    return method_class(name).of(fields)


def preset(name: str, choice: str) -> dict[str, Any]:
    """Every parameter of a method's named preset except bits and seed, which it leaves alone."""
    return method_class(name).preset_values(choice)


def method_class(name: str) -> type[HashMethod]:
    """The method of this name, or an error that lists the names there are."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
