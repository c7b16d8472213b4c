"""Environment variables of the program: current names, and old names that still work."""

import logging
import os
from functools import cache

from smfh.types import InputError

OLD_NAMES = {
    "SMFH_EDIT_POLICY": "SMFH_CHANGED_BY",
    "SMFH_MAX_GB": "SMFH_MOST_GB",
    "SMFH_MAX_MINUTES": "SMFH_MOST_MINUTES",
}

log = logging.getLogger(__name__)


def read_variable(name: str) -> str:
    """Return the value of an environment variable, or of its old name; "" if neither is set."""
    if value := os.environ.get(name, ""):
        return value
    old_name = OLD_NAMES.get(name, "")
    if value := os.environ.get(old_name, ""):
        _log_old_name(old_name, name)
    return value


def read_number(name: str, default: float, allow_zero: bool = False) -> float:
    """Return the value of an environment variable as a number, or the default if it is not set.

    Raises InputError if it is negative, infinite or, unless `allow_zero`, zero.
    """
    text = read_variable(name)
    try:
        number = float(text) if text else default
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (number == 0 and not allow_zero):
        expected = "a number of at least 0" if allow_zero else "a number above 0"
        raise InputError(f"{name} must be {expected}; got {text[:40]!r}.")
    return number


@cache
def _log_old_name(old_name: str, name: str) -> None:
    log.warning("%s is now called %s; the old name still works.", old_name, name)
