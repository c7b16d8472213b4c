"""A common interface to the files of an archive, an upload or a folder."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from smfh.files.archive import open_archive
from smfh.files.content import Content, name_of, open_content
from smfh.files.limits import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FOLDER_ENTRIES, check_size
from smfh.types import InputError

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")  # of which only .zip is opened
Uploads = tuple[tuple[str, bytes], ...]  # names and contents of several files


@dataclass(frozen=True, eq=False)
class Listing:
    """Files by name, with / between folders; a name is only a key and is never used as a path."""

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)  # bytes
    get: Callable[[str], Content] = field(default=lambda name: b"")  # returns the path or the content of a file

    def read(self, name: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        check_size(name, self.sizes[name], max_bytes)
        with open_content(self.get(name), name, max_bytes) as file:
            return file.read()

    def ending(self, *suffixes: str) -> list[str]:
        """List the files whose names have one of these suffixes, in order."""
        return [name for name in self.sizes if PurePosixPath(name.lower()).suffix in suffixes]


@contextmanager
def open_listing(content: Content | Uploads, name: str = "") -> Iterator[Listing]:
    """List the files of a folder, an archive, several uploads or a single file, except hidden files.

    Symbolic links in a folder are not followed. Archives among several uploads are opened, too.
    """
    if isinstance(content, Path) and content.is_dir():
        found: dict[str, Path] = {}
        for place, folders, names in os.walk(content, followlinks=False):
            folders[:] = sorted(one for one in folders if not one.startswith((".", "__")))
            paths = [Path(place, one) for one in sorted(names)]
            found |= {p.relative_to(content).as_posix(): p for p in paths if p.is_file() and not p.is_symlink()}
        sizes = {key: path.stat().st_size for key, path in found.items()}
        yield _visible(content.name, sizes, found.__getitem__, MAX_FOLDER_ENTRIES)
        return
    if isinstance(content, Path) and not content.exists():
        raise InputError(f"There is no file or folder {name_of(content, name)!r}.")
    files: Sequence[tuple[str, Content]] = (
        content if isinstance(content, tuple) else [(name_of(content, name), content)]
    )
    entries: dict[str, tuple[int, Callable[[], Content]]] = {}
    with ExitStack() as stack:
        for key, one in files:
            if not key.lower().endswith(".zip"):
                size = len(one) if isinstance(one, bytes) else one.stat().st_size if one.is_file() else 0
                entries[key] = (size, lambda one=one: one)  # type: ignore[misc]
                continue
            archive = stack.enter_context(open_archive(one, key))
            for member, info in archive.members.items():
                unique = member if member not in entries else f"{key}/{member}"
                entries[unique] = (info.file_size, lambda a=archive, m=member: a.read(m))  # type: ignore[misc]
        sizes = {key: size for key, (size, _) in entries.items()}
        yield _visible(name or files[0][0], sizes, lambda key: entries[key][1](), MAX_ENTRIES)


def _visible(name: str, sizes: Mapping[str, int], get: Callable[[str], Content], max_entries: int) -> Listing:
    """Return a listing without files that are hidden or added by operating systems (.DS_Store, Thumbs.db)."""
    visible = {
        key: size
        for key, size in sizes.items()
        if not any(part.startswith((".", "__")) and part != ".." for part in key.split("/"))
        and not key.lower().endswith(("thumbs.db", "desktop.ini"))
    }
    if len(visible) > max_entries:
        raise InputError(f"{name} has {len(visible):,} files; the limit is {max_entries:,}.")
    return Listing(name, visible, get)
