"""Downloads from a real server on this machine: complete, cut off, too large, forged, absent."""

import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from smfh.datasets.download import download, unpack
from smfh.types import InputError

CONTENT = np.random.default_rng(0).bytes(1_500_000)


class Handler(BaseHTTPRequestHandler):
    """Serves the content; the path decides what goes wrong."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.close_connection = True
        if self.path == "/absent":
            return self.send_error(404)
        self.send_response(302 if self.path.startswith("/to?") else 200)
        body = b"" if self.path.startswith("/to?") else CONTENT
        if self.path.startswith("/to?"):
            self.send_header("Location", self.path[4:])
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:400_000] if self.path == "/cut" else body)
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def url(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_complete_file_with_progress(url, tmp_path):
    steps = []
    target = tmp_path / "new folder" / "file.zip"
    assert download(f"{url}/file", target, lambda *step: steps.append(step)) == target
    assert target.read_bytes() == CONTENT
    shares = [share for share, _ in steps]
    assert shares == sorted(shares)
    assert steps[-1] == (1.0, "1.5 of 1.5 MB")
    assert list(target.parent.iterdir()) == [target]
    assert download(f"{url}/chunked", target).read_bytes() == CONTENT


def cancel(share, step):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [
        ("absent", {}, InputError, "answered 404 Not Found"),
        ("cut", {}, InputError, "Check the connection and retry"),
        ("file", {"max_bytes": 1 << 20}, InputError, r"needs 1\.4 MB; the limit is 1\.0 MB"),
        ("chunked", {"max_bytes": 1 << 20}, InputError, r"the limit is 1\.0 MB"),
        ("file", {"on_progress": cancel}, KeyboardInterrupt, None),
    ],
)
def test_a_failed_download_leaves_the_old_file(url, tmp_path, path, options, error, message):
    (tmp_path / "file").write_text("old")
    with pytest.raises(error, match=message):
        download(f"{url}/{path}", tmp_path / "file", **options)
    assert (tmp_path / "file").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_reported(url, tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(InputError, match="file cannot be saved"):
        download(f"{url}/file", tmp_path / "file")


@pytest.mark.parametrize(
    "address", ["http://example.org/file", "ftp://example.org/file", "file:///etc/passwd", "https:///file", "file"]
)
def test_only_https_addresses_are_accepted_also_after_redirects(url, address, tmp_path):
    with pytest.raises(InputError, match="Only https"):
        download(address, tmp_path / "file")
    if "://example" in address:
        with pytest.raises(InputError, match="Only https"):
            download(f"{url}/to?{address}", tmp_path / "file")
    assert download(f"{url}/to?{url}/file", tmp_path / "file").read_bytes() == CONTENT


def test_unpacking_uses_only_the_paths_of_the_caller(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("set/raw_features.mat", "features")
        archive.writestr("../../evil", "evil")
        archive.writestr("set/images/art/1.jpg", "picture")
    (tmp_path / "set.zip").write_bytes(file.getvalue())
    unpack(tmp_path / "set.zip", tmp_path / "wiki", ["raw_features.mat", "images/art/1.jpg"])
    assert (tmp_path / "wiki/raw_features.mat").read_text() == "features"
    assert (tmp_path / "wiki/images/art/1.jpg").read_text() == "picture"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set.zip", "wiki"]
    with pytest.raises(InputError, match=r"set\.zip is incomplete: .* such as absent"):
        unpack(tmp_path / "set.zip", tmp_path / "wiki", ["absent"])
    with pytest.raises(InputError, match="expected 00"):
        unpack(tmp_path / "set.zip", tmp_path / "other", {"raw_features.mat": "00"})
    assert not (tmp_path / "other").exists()
