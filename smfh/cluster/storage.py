"""A folder that shards and what is learnt from them are kept in: a path, or any address that fsspec knows.

Files are written whole or not at all: beside their name, and then moved into place.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from smfh.files import Array, read_json, read_npz
from smfh.files.arrays import pack_npz
from smfh.files.whole import write_whole
from smfh.types import InputError

MOST_BYTES = 1 << 40  # of an array of our own that is read from a file


@dataclass(frozen=True)
class Folder:
    """Files by name below an address; a path holds wherever a worker stands."""

    address: str

    def __post_init__(self) -> None:
        if self.is_local:  # not resolved: a link may lead elsewhere on another machine
            object.__setattr__(self, "address", str(Path(self.address).absolute()))

    @property
    def is_local(self) -> bool:
        return "://" not in self.address

    def folder(self, name: str) -> "Folder":
        return Folder(f"{self.address.rstrip('/')}/{name}")

    def make(self) -> "Folder":
        """The folder, which is now there."""
        if self.is_local:
            Path(self.address).mkdir(parents=True, exist_ok=True)
        else:
            _system(self.address).makedirs(self.address, exist_ok=True)
        return self

    def names(self) -> list[str]:
        """Of all files and folders in it; nothing where it does not exist."""
        if self.is_local:
            return sorted(p.name for p in Path(self.address).iterdir()) if self.exists() else []
        if not self.exists():
            return []
        found = _system(self.address).ls(self.address, detail=False)
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def exists(self, name: str = "") -> bool:
        if self.is_local:
            return (Path(self.address) / name).exists()
        return bool(_system(self.address).exists(self._path(name)))

    def size(self, name: str) -> int:
        if self.is_local:
            return (Path(self.address) / name).stat().st_size
        return int(_system(self.address).size(self._path(name)))

    def open(self, name: str) -> BinaryIO:
        if self.is_local:
            return (Path(self.address) / name).open("rb")
        return cast(BinaryIO, _system(self.address).open(self._path(name), "rb"))

    def write(self, name: str, write: Callable[[BinaryIO], object], durable: bool = False) -> None:
        """A file of what `write` writes; `durable`: even where the power is cut."""
        if self.is_local:
            write_whole(Path(self.address) / name, write, durable)
            return
        system, beside = _system(self.address), self._path(f".{name}.{id(write)}")
        with system.open(beside, "wb") as file:
            write(cast(BinaryIO, file))
        system.mv(beside, self._path(name))

    def remove(self, name: str) -> None:
        """The file, or the folder with all that is in it, unless it is gone."""
        if not self.exists(name):
            return
        if self.is_local:
            import shutil

            path = Path(self.address) / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        else:
            _system(self.address).rm(self._path(name), recursive=True)

    def array(self, name: str) -> NDArray[Any]:
        """An array of one's own; on this machine it stays on the disk until its rows are looked at."""
        if self.is_local:
            return np.asanyarray(np.load(Path(self.address) / name, mmap_mode="r", allow_pickle=False))
        with self.open(name) as file:
            return np.asarray(np.load(io.BytesIO(file.read()), allow_pickle=False))

    def write_array(self, name: str, array: NDArray[Any]) -> None:
        self.write(name, lambda file: np.lib.format.write_array(file, array, allow_pickle=False))

    def arrays(self, name: str) -> dict[str, Array]:
        """The arrays of a .npz, each looked at."""
        with self.open(name) as file:
            return read_npz(file.read(), name=name, max_bytes=MOST_BYTES)

    def write_arrays(self, name: str, arrays: Mapping[str, Array]) -> None:
        self.write(name, lambda file: pack_npz(file, arrays, level=1))

    def json(self, name: str) -> Any:
        try:
            with self.open(name) as file:
                return read_json(file.read())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} in {self.address} is torn: it is no JSON.") from error

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, lambda file: file.write(json.dumps(value, indent=1).encode()), durable=True)

    def _path(self, name: str) -> str:
        return f"{self.address.rstrip('/')}/{name}" if name else self.address


@cache
def _system(address: str) -> Any:
    """What reads and writes there."""
    try:
        from fsspec.core import url_to_fs

        return url_to_fs(address)[0]
    except ImportError as error:
        raise InputError(
            f"{address} needs fsspec or a driver for it, which is not installed ({error}); a plain path does "
            'not. python -m pip install "smfh-explorer[cluster]" has fsspec.'
        ) from error
    except ValueError as error:
        raise InputError(f"{address} is no address that fsspec knows: {error}.") from error
