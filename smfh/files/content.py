"""Read files on disk or in memory as streams, text or JSON; bad content raises `InputError`."""

import codecs
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from smfh.files.limits import MAX_FILE_BYTES, MAX_JSON_BYTES, MAX_JSON_VALUES, check_size
from smfh.types import InputError

Content = Path | bytes

MAX_PROBLEMS = 20
MAX_REASON = 200  # characters
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a surrogate pair in JSON; the other half may be missing


def name_of(content: Content, name: str) -> str:
    """Return the name to use in messages: `name`, or if it is empty the file name without its folder."""
    return name or (content.name if isinstance(content, Path) else "the file")


@contextmanager
def open_content(content: Content, name: str, max_bytes: int = MAX_FILE_BYTES) -> Iterator[BinaryIO]:
    """Open a file or bytes as a seekable stream; raise `InputError` if missing, empty or too large."""
    try:
        if isinstance(content, Path) and not content.is_file() and content.exists():
            raise InputError(f"{name} is not a file.")  # a folder, or a pipe that would block
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        file = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    except OSError as error:
        raise InputError(f"{name} cannot be opened: {error.strerror or error}.") from error
    with file:
        if size == 0:
            raise InputError(f"{name} is empty.")
        check_size(name, size, max_bytes)
        yield file


@contextmanager
def convert_errors(name: str) -> Iterator[None]:
    """Convert every exception that a parser raises on bad bytes to `InputError`."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{name} needs more memory than is available; it is damaged or too large.") from error
    except Exception as error:  # parsers raise nearly anything on crafted bytes
        if isinstance(error, OSError) and error.errno:  # the disk failed, not the parser
            raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error
        reason = f"{type(error).__name__}: {error}"[:MAX_REASON]
        raise InputError(f"{name} is damaged or truncated ({reason}). Create or download it again.") from error


def read_text(content: Content, name: str = "", max_bytes: int = MAX_FILE_BYTES) -> str:
    """Read UTF-8 text, or UTF-16 with a byte order mark; return it without the mark."""
    name = name_of(content, name)
    with convert_errors(name), open_content(content, name, max_bytes) as file:
        content = file.read()
        try:
            return content.decode(
                "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
            )
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name} is not UTF-8 text (byte {error.start:,}). In a spreadsheet, save it as “CSV UTF-8”."
            ) from error


def read_json(text: str | bytes) -> Any:
    """Parse JSON; raise an error on lone surrogates, which cannot be encoded as UTF-8."""
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def read_json_file(content: Content, name: str = "") -> Any:
    """Read a JSON file; raise InputError before parsing if it has too many values, which need much memory."""
    name = name_of(content, name)
    text = read_text(content, name, MAX_JSON_BYTES)
    if (values := sum(map(text.count, "[{,"))) > MAX_JSON_VALUES:
        raise InputError(f"{name} has about {values:,} values; the limit is {MAX_JSON_VALUES:,}.")
    with convert_errors(name):
        return read_json(text) if SURROGATE.search(text) else json.loads(text)


def shortened(problems: Sequence[str]) -> list[str]:
    """Return the first 20 problems and, if there are more, a line that says how many more."""
    if len(problems) <= MAX_PROBLEMS:
        return list(problems)
    return [*problems[:MAX_PROBLEMS], f"… and {len(problems) - MAX_PROBLEMS:,} more problems."]
