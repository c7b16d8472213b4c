"""METHODS: every method is entered here once, and so gets its command, controls and tests."""

from collections.abc import Iterable
from functools import partial

from smfh.hashing.cmfh import CMFH
from smfh.hashing.cvh import CVH
from smfh.hashing.hasher import HashMethod
from smfh.hashing.pdh import PDH
from smfh.hashing.smfh import SMFH
from smfh.hashing.smfh_plus import SMFHPlus
from smfh.hashing.smh import SMH
from smfh.types import InputError, parameters, together, unknown

METHODS: dict[str, type[HashMethod]] = {
    method.name: method for method in (SMFHPlus, SMFH, CMFH, SMH, CVH, PDH)
}


def make_method(name: str, **fields: object) -> HashMethod:
    """The method of this name with these parameters; what is not given keeps its default."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    known = parameters(METHODS[name])
    method: HashMethod
    *_, method = together(
        *(partial(_refuse, name, field, known) for field in fields if field not in known),
        lambda: METHODS[name](**{field: value for field, value in fields.items() if field in known}),
    )
    return method


def _refuse(method: str, field: str, known: Iterable[str]) -> None:
    raise InputError(f"{method} has no parameter {field}; there are {', '.join(known)}.")


def preset(name: str, choice: str) -> dict[str, object]:
    """The parameters of a method's named preset."""
    presets = METHODS[name].presets
    if choice not in presets:
        raise unknown(f"preset of {name}", choice, presets)
    return dict(presets[choice])
