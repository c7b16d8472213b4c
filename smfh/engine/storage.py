"""Read and write files in a folder: a local path, or any address that fsspec supports.

A file is written under a temporary name and then moved, so it is complete or does not exist.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from smfh.files import Array, pack_npz, read_json, read_npz
from smfh.files.atomic import write_atomically
from smfh.types import InputError

MAX_BYTES = 1 << 40  # largest .npz content that is read


@dataclass(frozen=True)
class Folder:
    """A folder at an address, which must lead to the same files on every worker."""

    address: str

    def __post_init__(self) -> None:
        if self.is_local:  # links stay: they may lead elsewhere on another machine
            object.__setattr__(self, "address", str(Path(self.address).absolute()))

    @property
    def is_local(self) -> bool:
        return "://" not in self.address

    def folder(self, name: str) -> "Folder":
        return Folder(self._path(name))

    def make(self) -> "Folder":
        """Create the folder if it does not exist, and return it."""
        _file_system(self.address).makedirs(self.address, exist_ok=True)
        return self

    def names(self) -> list[str]:
        """Return the sorted names of the files and folders in it; empty if it does not exist."""
        if not self.exists():
            return []
        found = _file_system(self.address).ls(self.address, detail=False)
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def exists(self, name: str = "") -> bool:
        return bool(_file_system(self.address).exists(self._path(name)))

    def size(self, name: str) -> int:
        return int(_file_system(self.address).size(self._path(name)))

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, _file_system(self.address).open(self._path(name), "rb"))

    def write(self, name: str, write: Callable[[BinaryIO], object], durable: bool = False) -> None:
        """Write a file by calling `write(file)`; a `durable` local file survives a power cut."""
        if self.is_local:
            write_atomically(Path(self._path(name)), write, durable)
            return
        system, temporary = _file_system(self.address), self._path(f".{name}.{id(write)}")
        with system.open(temporary, "wb") as file:
            write(cast(BinaryIO, file))
        system.mv(temporary, self._path(name))

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with its content, if it exists."""
        if self.exists(name):
            _file_system(self.address).rm(self._path(name), recursive=True)

    def array(self, name: str) -> NDArray[Any]:
        """Read a .npy file; a local file is memory-mapped, so rows are read when used."""
        if self.is_local:
            return np.asanyarray(np.load(self._path(name), mmap_mode="r", allow_pickle=False))
        with self.open(name) as file:
            return np.asarray(np.load(BytesIO(file.read()), allow_pickle=False))

    def write_array(self, name: str, array: NDArray[Any]) -> None:
        self.write(name, lambda file: np.lib.format.write_array(file, array, allow_pickle=False))

    def arrays(self, name: str) -> dict[str, Array]:
        """Read and check a .npz file; return its arrays by name."""
        with self.open(name) as file:
            return read_npz(file.read(), name=name, max_bytes=MAX_BYTES)

    def write_arrays(self, name: str, arrays: Mapping[str, Array]) -> None:
        self.write(name, lambda file: pack_npz(file, arrays, level=1))

    def json(self, name: str) -> Any:
        try:
            with self.open(name) as file:
                return read_json(file.read())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} in {self.address} is damaged: it is not JSON.") from error

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, lambda file: file.write(json.dumps(value, indent=1).encode()), durable=True)

    def _path(self, name: str) -> str:
        return f"{self.address.rstrip('/')}/{name}" if name else self.address


@cache
def _file_system(address: str) -> Any:
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(address)[0]
    except ImportError as error:
        raise InputError(f"{address} needs an fsspec driver that is not installed: {error}.") from error
    except ValueError as error:
        raise InputError(f"{address} is not an address that fsspec knows: {error}.") from error
