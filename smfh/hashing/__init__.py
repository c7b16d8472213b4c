"""The methods, one a file, and METHODS, where each is entered once."""

from smfh.hashing.cmfh import CMFH
from smfh.hashing.cvh import CVH
from smfh.hashing.hasher import FittedHasher, HashFunction, HashMethod
from smfh.hashing.pdh import PDH
from smfh.hashing.registry import METHODS, make_method, preset
from smfh.hashing.smfh import SMFH
from smfh.hashing.smfh_plus import SMFHPlus
from smfh.hashing.smh import SMH
from smfh.hashing.storage import load_hasher, save_hasher

__all__ = [
    "CMFH",
    "CVH",
    "METHODS",
    "PDH",
    "SMFH",
    "SMH",
    "FittedHasher",
    "HashFunction",
    "HashMethod",
    "SMFHPlus",
    "load_hasher",
    "make_method",
    "preset",
    "save_hasher",
]
