"""The registry METHODS; commands, pages and tests include every method that is listed in it."""

from typing import Any

from smfh.hashing.base import HashMethod
from smfh.hashing.batch import BATCH
from smfh.hashing.class_codes import ClassCodes
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
    method.name: method
    for method in (SMFHPlus, SMFH, CMFH, SMH, CVH, PDH, DCH, SCRATCH, BATCH, ClassCodes, SMFHProgram)
}
COMPARED = tuple(name for name in METHODS if name != SMFHProgram.name)  # the default methods


def make_method(name: str, **fields: Any) -> HashMethod:
    """Make the method with this name; parameters that are not given take their default values."""
    return method_class(name).of(fields)


def preset(name: str, choice: str) -> dict[str, Any]:
    """Return all parameter values of a method's preset, except bits and seed, which presets do not set."""
    return method_class(name).preset_values(choice)


def method_class(name: str) -> type[HashMethod]:
    """Return the method class with this name; if there is none, raise an error that lists all names."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
