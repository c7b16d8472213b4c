"""Downloads from a real server on this machine: whole, broken off, changed, forged, absent."""

import hashlib
import io
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from smfh.datasets import download as module
from smfh.datasets.download import download, unpack
from smfh.types import InputError

CONTENT = np.random.default_rng(0).bytes(1_500_000)
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves the content with ranges; its server says what goes wrong and keeps what was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        if self.path == "/absent":
            return self.send_error(404)
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        start = 0
        asked_range = self.headers.get("Range")
        if asked_range and server.ranges and self.headers.get("If-Range") in (None, server.tag):
            start = int(asked_range.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.content):
                return self.send_error(416)
            self.send_response(206)
        else:
            self.send_response(200)
        if server.tag:
            self.send_header("ETag", server.tag)
        body = server.content[start:]
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.breaks:
            body = body[: server.breaks.pop(0)]
        self.wfile.write(body)
        self.close_connection = True
        return None

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.content, running.tag, running.ranges = CONTENT, '"one"', True
        running.breaks, running.asked = [], []
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def left_over(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_whole_file_with_progress(server, tmp_path):
    seen = []
    target = tmp_path / "new folder" / "file.zip"
    assert download(f"{server.url}/file", target, CHECKSUM, lambda *step: seen.append(step)) == target
    assert target.read_bytes() == CONTENT
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert seen[-1] == (1.0, "1.5 of 1.5 MB")
    assert left_over(target.parent) == ["file.zip"]


def test_a_broken_connection_is_resumed_at_once(server, tmp_path):
    server.breaks = [400_000, 300_000]
    download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [asked for _, asked, _ in server.asked] == [None, "bytes=400000-", "bytes=700000-"]


def test_a_file_of_unknown_length_is_whole_as_well(server, tmp_path):
    server.breaks = [400_000]
    download(f"{server.url}/chunked", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_folder_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(InputError, match="file cannot be written"):
        download(f"{server.url}/file", tmp_path / "file")


def test_what_broke_off_for_good_is_resumed_by_the_next_call(server, tmp_path):
    server.breaks = [100_000] * 3
    with pytest.raises(InputError, match="broke off 3 times"):
        download(f"{server.url}/file", tmp_path / "file")
    assert not (tmp_path / "file").exists()
    download(f"{server.url}/file", tmp_path / "file")
    assert server.asked[-1] == ("/file", "bytes=300000-", '"one"')
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_halves_of_two_versions_are_never_joined(server, tmp_path):
    server.breaks = [100_000] * 3
    with pytest.raises(InputError):
        download(f"{server.url}/file", tmp_path / "file")
    server.content, server.tag = CONTENT[::-1], '"two"'
    download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("without", ["ranges", "tag"])
def test_a_server_that_cannot_resume_starts_again(server, tmp_path, without):
    setattr(server, without, "")
    server.breaks = [100_000]
    download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    with pytest.raises(InputError, match=f"has the SHA-256 {CHECKSUM}; expected 00"):
        download(f"{server.url}/file", tmp_path / "file", "00")
    assert "file" not in left_over(tmp_path)
    assert "file.part" not in left_over(tmp_path)


def test_an_old_part_longer_than_the_file_is_replaced(server, tmp_path):
    (tmp_path / "file.part").write_bytes(bytes(2_000_000))
    download(f"{server.url}/file", tmp_path / "file", CHECKSUM)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_cancelling_leaves_no_target(server, tmp_path):
    def cancel(share, words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(f"{server.url}/file", tmp_path / "file", on_progress=cancel)
    assert not (tmp_path / "file").exists()


def test_an_existing_file_survives_a_failure(server, tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match="404 Not Found"):
        download(f"{server.url}/absent", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"


def test_too_much_is_refused(server, tmp_path):
    with pytest.raises(InputError, match="at most 1,000,000 are fetched"):
        download(f"{server.url}/file", tmp_path / "file", max_bytes=1_000_000)


def test_offline_is_said(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        with pytest.raises(InputError, match="is this computer online"):
            download(url, tmp_path / "file")


@pytest.mark.parametrize(
    "url",
    ["http://example.org/file", "ftp://example.org/file", "file:///etc/passwd", "https:///file", "file"],
)
def test_only_addresses_that_cannot_be_forged(url, tmp_path):
    with pytest.raises(InputError, match="Only https"):
        download(url, tmp_path / "file")


def test_plain_http_needs_a_checksum():
    module.check_address("http://example.org/file", verified=True)
    with pytest.raises(InputError, match="Only https"):
        module.check_address("file:///etc/passwd", verified=True)


def test_a_redirect_is_checked_as_well(server, tmp_path):
    download(f"{server.url}/to?{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    with pytest.raises(InputError, match="Only https"):
        download(f"{server.url}/to?http://example.org/file", tmp_path / "other")


def test_unpacking_takes_paths_from_the_caller_alone(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("set/raw_features.mat", "features")
        archive.writestr("../../evil", "evil")
        archive.writestr("set/images/art/1.jpg", "picture")
    (tmp_path / "set.zip").write_bytes(file.getvalue())
    unpack(tmp_path / "set.zip", tmp_path / "wiki", ["raw_features.mat", "images/art/1.jpg"])
    assert (tmp_path / "wiki/raw_features.mat").read_text() == "features"
    assert (tmp_path / "wiki/images/art/1.jpg").read_text() == "picture"
    assert left_over(tmp_path) == ["set.zip", "wiki"]
    with pytest.raises(InputError, match=r"set\.zip lacks absent"):
        unpack(tmp_path / "set.zip", tmp_path / "wiki", ["absent"])
