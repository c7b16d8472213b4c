"""Which program this is: workers must run the client's."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

import smfh
from smfh.types import InputError


@cache
def program() -> str:
    """NumPy's version, and a checksum of the whole package: a worker may be asked to call any of it."""
    checksum = hash_modules(Path(smfh.__file__).parent)[:12]
    return f"smfh {checksum} with NumPy {np.__version__}"


def hash_modules(root: Path) -> str:
    """SHA-256 of all modules below a folder, with their names."""
    digest = hashlib.sha256()
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def check_program(client: str) -> None:
    """On a worker: refuse to work for another program."""
    if client != program():
        raise InputError(f"A worker runs {program()}, the client {client}: install the same version on both.")
