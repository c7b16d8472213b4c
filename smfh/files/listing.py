"""A common interface to the files of an archive, an upload or a folder."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from smfh.files.archive import Archive, open_archive
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
    links: Sequence[str] = ()  # symbolic links in a folder; they are not followed and not among the files

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

    Symbolic links in a folder are not followed, because they may lead out of it. Archives among several
    uploads are opened, too.
    """
    sizes: dict[str, int] = {}
    sources: dict[str, Content | tuple[Archive, str]] = {}  # files, and members of archives
    links: list[str] = []
    max_entries = MAX_ENTRIES

    def get(key: str) -> Content:
        source = sources[key]
        return source[0].read(source[1]) if isinstance(source, tuple) else source

    with ExitStack() as stack:
        if isinstance(content, Path) and content.is_dir():
            name, max_entries = content.name, MAX_FOLDER_ENTRIES
            for place, folders, names in os.walk(content):
                folders[:] = sorted(one for one in folders if not _is_hidden(one))
                for path in (Path(place, one) for one in [*folders, *sorted(names)]):
                    key = path.relative_to(content).as_posix()
                    if path.is_symlink():
                        links.append(key)
                    elif path.is_file():
                        sizes[key], sources[key] = path.stat().st_size, path
        elif isinstance(content, Path) and not content.exists():
            raise InputError(f"There is no file or folder {name_of(content, name)!r}.")
        else:
            single = [] if isinstance(content, tuple) else [(name_of(content, name), content)]
            files: Sequence[tuple[str, Content]] = content if isinstance(content, tuple) else single
            name = name or files[0][0]
            for key, one in files:
                if key.lower().endswith(".zip"):
                    archive = stack.enter_context(open_archive(one, key))
                    for member, info in archive.members.items():
                        unique = member if member not in sizes else f"{key}/{member}"
                        sizes[unique], sources[unique] = info.file_size, (archive, member)
                else:
                    sizes[key] = len(one) if isinstance(one, bytes) else one.stat().st_size
                    sources[key] = one
        visible = {key: size for key, size in sizes.items() if not any(map(_is_hidden, key.split("/")))}
        if len(visible) > max_entries:
            raise InputError(f"{name} has {len(visible):,} files; the limit is {max_entries:,}.")
        yield Listing(name, visible, get, [key for key in links if not any(map(_is_hidden, key.split("/")))])


def _is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden or made by an operating system (.DS_Store, __MACOSX, Thumbs.db)."""
    is_private = name.startswith((".", "__")) and name != ".."
    return is_private or name.lower() in ("thumbs.db", "desktop.ini")
