"""Fetch a public file: with progress, resumed where it broke off, checked, and never half-written."""

import hashlib
import http.client
import ipaddress
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from smfh.datasets.source import OnProgress
from smfh.files import Archive, open_archive
from smfh.types import InputError

MAX_DOWNLOAD = 4 << 30
BLOCK = 1 << 18
SECONDS = 30.0  # without a byte
ATTEMPTS = 3


def download(
    url: str,
    target: Path,
    sha256: str | None = None,
    on_progress: OnProgress | None = None,
    max_bytes: int = MAX_DOWNLOAD,
) -> Path:
    """The file at `url` as `target`, which appears only when it is whole and its checksum is right.

    What has come so far waits in `<target>.part`; the next call goes on from there.
    """
    check_address(url, verified=sha256 is not None)
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, ATTEMPTS + 1):
            if _fetch(url, part, sha256 is not None, on_progress, max_bytes):
                break
            if attempt == ATTEMPTS:
                raise InputError(f"The connection broke off {ATTEMPTS} times; try again to go on with {url}.")
        if sha256 is not None:
            _check_sum(part, sha256, url)
        part.replace(target)
        _mark(part).unlink(missing_ok=True)
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(f"{url} answers {error.code} {error.reason}; the file may have moved.") from error
    except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url} cannot be fetched ({reason}); is this computer online?") from error
    except OSError as error:
        raise InputError(f"{target.name} cannot be written: {error.strerror or error}.") from error
    return target


def unpack(archive: Path, folder: Path, wanted: Collection[str], required: bool = True) -> None:
    """Write the wanted files below the folder, none of them half-written.

    The paths come from the caller alone: a member is looked up by its ending and never names a path. Where
    `wanted` maps paths to SHA-256 sums, a file that differs is refused.
    """
    sums = wanted if isinstance(wanted, Mapping) else {}
    with open_archive(archive) as opened:
        by_ending = _endings(opened)
        absent = [path for path in wanted if path not in by_ending]
        if absent and required:
            raise InputError(f"{archive.name} lacks {', '.join(absent[:5])} ({len(absent)} files in all).")
        for path in wanted:
            if path in by_ending:
                _write(folder / path, opened.read(by_ending[path]), sums.get(path))


def _write(target: Path, content: bytes, sha256: str | None) -> None:
    if sha256 is not None and (came := hashlib.sha256(content).hexdigest()) != sha256:
        raise InputError(f"{target.name} has the SHA-256 {came}; expected {sha256}. It was not written.")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(content)
    part.replace(target)


def check_address(url: str, verified: bool) -> None:
    """Refuse an address whose answer could be forged on the way: it needs https or a known checksum."""
    address = urlsplit(url)
    allowed = ("https", "http") if verified or _is_loopback(address.hostname) else ("https",)
    if address.scheme not in allowed or not address.hostname:
        raise InputError(f"Only https addresses are fetched where no checksum is known; got {url!r}.")


def _fetch(url: str, part: Path, verified: bool, on_progress: OnProgress | None, max_bytes: int) -> bool:
    """Append what is still missing to the part; False if the connection broke off before the end."""
    have, mark = _resume_point(part, verified)
    headers = {"Accept-Encoding": "identity", "User-Agent": "smfh-explorer"}
    if have:
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": mark} if mark else {})
    with _answer(url, headers, verified) as answer:
        if answer.status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # longer than the file itself, so of something else
            return False
        if answer.status != http.client.PARTIAL_CONTENT:
            have = 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdecimal() else None
        if total is not None and total > max_bytes:
            raise InputError(f"{url} has {total:,} bytes; at most {max_bytes:,} are fetched.")
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        _mark(part).write_text(mark, "utf-8")
        with part.open("r+b" if have else "wb") as file:
            file.seek(have)
            while block := _read_block(answer):
                have += file.write(block)
                if have > max_bytes:
                    raise InputError(f"{url} has more than {max_bytes:,} bytes.")
                if on_progress and total:
                    on_progress(have / total, f"{have / 1e6:,.1f} of {total / 1e6:,.1f} MB")
        return block is not None and total in (None, have)


def _read_block(answer: Any) -> bytes | None:
    """What comes next, empty at the end; None if the connection ended where more was promised."""
    try:
        block: bytes = answer.read(BLOCK)
    except (http.client.HTTPException, OSError):
        return None
    return block


def _resume_point(part: Path, verified: bool) -> tuple[int, str]:
    """How much is there, and the server's mark of its version; 0 if neither mark nor checksum can tell."""
    mark = _mark(part).read_text("utf-8") if _mark(part).is_file() else ""
    have = part.stat().st_size if part.is_file() else 0
    return (have, mark) if mark or verified else (0, "")


def _mark(part: Path) -> Path:
    return part.with_name(f"{part.name}.mark")


def _check_sum(part: Path, sha256: str, url: str) -> None:
    with part.open("rb") as file:
        came = hashlib.file_digest(file, "sha256").hexdigest()
    if came != sha256:
        part.unlink()
        raise InputError(f"{url} has the SHA-256 {came}; expected {sha256}. What came was thrown away.")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows only to addresses that could have been asked for in the first place."""

    def __init__(self, verified: bool) -> None:
        self.verified = verified

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        check_address(newurl, self.verified)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _answer(url: str, headers: dict[str, str], verified: bool) -> Iterator[Any]:
    opener = urllib.request.build_opener(_SafeRedirects(verified))
    request = urllib.request.Request(url, headers=headers)  # noqa: S310, the address has been checked
    try:
        answer = opener.open(request, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        answer = error
    with answer:
        yield answer


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _endings(archive: Archive) -> dict[str, str]:
    """Members by every ending of their path, whatever folders the archive puts around a file."""
    endings: dict[str, str] = {}
    for name in archive.members:
        steps = name.split("/")
        for first in range(len(steps)):
            endings.setdefault("/".join(steps[first:]), name)
    return endings
