"""What is handed in: a file on disk or the bytes of an upload, opened within a size limit, and the guard."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from smfh.types import InputError

Content = Path | bytes

MAX_FILE_BYTES = 1 << 30
MAX_PROBLEMS = 20
MAX_REASON = 200  # characters


def name_of(content: Content, name: str) -> str:
    """The name that messages use: the one given, else the file's own, never its folder."""
    return name or (content.name if isinstance(content, Path) else "the file")


@contextmanager
def opened(content: Content, name: str, max_bytes: int = MAX_FILE_BYTES) -> Iterator[BinaryIO]:
    """The content as a seekable stream, if it is there, not empty and not too large."""
    try:
        if isinstance(content, Path) and not content.is_file() and content.exists():
            raise InputError(f"{name} is no file.")  # a folder; or a pipe, at which one would wait for ever
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        file = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    except OSError as error:
        raise InputError(f"{name} cannot be opened: {error.strerror or error}.") from error
    with file:
        if size == 0:
            raise InputError(f"{name} is empty.")
        if size > max_bytes:
            raise InputError(f"{name} has {megabytes(size)}; at most {megabytes(max_bytes)} are read.")
        yield file


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """At the mouth of a reader: whatever its parser raises on bad bytes is told as a fault of the file."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{name} needs more memory than there is; it is damaged or too large.") from error
    except Exception as error:  # on crafted bytes parsers raise nearly anything
        if isinstance(error, OSError) and error.errno:  # the disk, not the bytes
            raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error
        why = f"{type(error).__name__}: {error}"[:MAX_REASON]
        raise InputError(f"{name} is damaged or truncated ({why}). Make or fetch it again.") from error


def read_text(content: Content, name: str = "", max_bytes: int = MAX_FILE_BYTES) -> str:
    """The content as UTF-8 text, without the mark that some programs put before it."""
    name = name_of(content, name)
    with guarded(name), opened(content, name, max_bytes) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name} is not UTF-8 text (byte {error.start:,}); in a spreadsheet choose “CSV UTF-8”."
            ) from error


def read_json(text: str | bytes) -> Any:
    """What JSON says; refused where it holds halves of characters: no page and no file could show them."""
    said = json.loads(text)
    json.dumps(said, ensure_ascii=False).encode()  # which raises at them
    return said


def megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MB"


def shortened(problems: Sequence[str]) -> list[str]:
    """The first problems, and how many more there are: a page cannot show a million of them."""
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], f"… and {len(problems) - MAX_PROBLEMS:,} more problems."]
