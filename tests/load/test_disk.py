"""The server never writes an upload to disk, as the guide says."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from twenty import UPLOADER, has_preview, has_scores, own_matrices, server
from visitor import Visitor

pytestmark = pytest.mark.slow
WAIT_SECONDS = 200
MIN_BYTES = 1 << 20  # of a file that could hold the upload


def large_files(folder: Path, pid: int) -> dict[str, int]:
    """Sizes of all files below the folder, and of deleted ones that the server or its workers have open."""
    sizes = {}
    for path in folder.rglob("*"):
        with suppress(OSError):
            sizes[str(path)] = path.stat().st_size if path.is_file() else 0
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        with suppress(OSError):
            for link in Path(f"/proc/{process.pid}/fd").iterdir():
                with suppress(OSError):
                    if (target := str(link.readlink())).startswith(str(folder)):
                        sizes[target] = link.stat().st_size
    return {name: size for name, size in sizes.items() if size >= MIN_BYTES}


def test_an_upload_is_never_on_disk(tmp_path):
    folders = {name: tmp_path / name for name in ("TMPDIR", "SMFH_CACHE")}
    for folder in folders.values():
        folder.mkdir()
    environment = os.environ | {name: str(folder) for name, folder in folders.items()}
    content, found = own_matrices(0), {}
    assert len(content) > 5_000_000

    async def visit(address: str, pid: int) -> None:
        visitor = Visitor(address)
        await visitor.open()
        await visitor.until(has_scores)
        await visitor.turn_to("Data")
        before = large_files(tmp_path, pid)

        async def watch() -> None:
            while True:
                found.update({n: s for n, s in large_files(tmp_path, pid).items() if before.get(n) != s})
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        await visitor.upload(UPLOADER, "mine.npz", content)
        await visitor.until(has_preview)
        watching.cancel()
        await visitor.close()
        assert not visitor.faults

    with server(environment, tmp_path / "server.log") as (address, pid):
        asyncio.run(asyncio.wait_for(visit(address, pid), WAIT_SECONDS))
    assert not found
