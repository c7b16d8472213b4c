"""Download public files with progress and unpack archives; no incomplete file is ever left behind."""

import hashlib
import http.client
import ipaddress
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from smfh.datasets.source import OnProgress
from smfh.files import open_archive
from smfh.files.atomic import write_atomically
from smfh.files.limits import check_size
from smfh.types import InputError

MAX_DOWNLOAD_BYTES = 4 << 30
BLOCK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0  # maximum wait for the next block


def download(url: str, target: Path, on_progress: OnProgress = None, max_bytes: int = MAX_DOWNLOAD_BYTES) -> Path:
    """Download an https address to `target`, which appears only when it is complete; return `target`."""
    check_address(url)
    opener = urllib.request.build_opener(_SafeRedirects())
    headers = {"Accept-Encoding": "identity", "User-Agent": "smfh-explorer"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310, the address has been checked

    def copy(file: BinaryIO) -> None:
        length = response.headers.get("Content-Length")
        total = int(length) if length and length.isdecimal() else None
        check_size(url, total or 0, max_bytes)
        done = 0
        while block := response.read(BLOCK_BYTES):
            done += file.write(block)
            check_size(url, done, max_bytes)
            if on_progress and total:
                on_progress(done / total, f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB")
        if total not in (None, done):
            raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            write_atomically(target, copy)
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(
            f"{url} answered {error.code} {error.reason}. The file may have moved; try again later."
        ) from error
    except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url} cannot be downloaded ({reason}). Check the connection and retry.") from error
    except OSError as error:
        raise InputError(
            f"{target.name} cannot be saved: {error.strerror or error}. Check the data folder and retry."
        ) from error
    return target


def check_address(url: str) -> None:
    """Raise InputError unless an address has https or is on this machine; other content could be forged."""
    address = urlsplit(url)
    try:
        host = address.hostname or ""
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not address.hostname or address.scheme not in ("https", *(["http"] if is_local else [])):
        raise InputError(f"Only https addresses can be downloaded; got {url!r}.")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def unpack(archive: Path, folder: Path, paths: Collection[str], required: bool = True) -> None:
    """Unpack the members of an archive that match `paths`, and write them to these paths in the folder.

    A member matches a path if its own path ends in it. The member's own path is never used for writing. If
    `paths` maps paths to SHA-256 sums, a file with another sum is refused. If `required` is False, files that
    the archive lacks are skipped.
    """
    checksums = paths if isinstance(paths, Mapping) else {}
    with open_archive(archive) as opened:
        members: dict[str, str] = {}  # every ending of a path → member
        for name in opened.members:
            steps = name.split("/")
            for first in range(len(steps)):
                members.setdefault("/".join(steps[first:]), name)
        missing = [path for path in paths if path not in members]
        if missing and required:
            raise InputError(
                f"{archive.name} is incomplete: {len(missing)} files are missing, such as {', '.join(missing[:5])}."
            )
        for path in set(paths) - set(missing):
            content, expected = opened.read(members[path]), checksums.get(path)
            if expected not in (None, actual := hashlib.sha256(content).hexdigest()):
                raise InputError(f"{path} has the SHA-256 {actual}; expected {expected}. It was not saved.")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / path, lambda file: file.write(content), durable=False)  # noqa: B023
