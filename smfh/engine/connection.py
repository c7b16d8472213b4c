"""Connect to a Dask scheduler: encrypted or on this machine, with workers of the same version."""

import hashlib
import ipaddress
import logging
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import smfh
from smfh.plugins import load_text, plugin_files
from smfh.types import InputError

WAIT_SECONDS = 30  # for the first worker on this machine, which may have to start
CLUSTER_WAIT_SECONDS = 4  # for the scheduler of a cluster, and then for its first worker
SETTINGS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",  # arguments of calls may be large
    "distributed.comm.timeouts.connect": "10s",  # after which the scheduler counts as lost
    "distributed.admin.tick.interval": "1s",  # less work for an idle server
}


def open_client(address: str, is_local: bool = False) -> Any:
    """Return a Dask client of the scheduler; wait for a worker; in a cluster, check that versions agree."""
    import dask
    from distributed import Client, Security

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # important problems are raised as errors
    dask.config.set(SETTINGS)
    check_address(address)
    security = Security(require_encryption=True) if address.startswith("tls://") else None
    if security is not None and security.get_connection_args("client")["ssl_context"] is None:
        names = "CA_FILE, CLIENT__CERT and CLIENT__KEY"
        raise InputError(
            f"{address} needs certificates: set {names}, each prefixed with DASK_DISTRIBUTED__COMM__TLS__."
        )
    client: Any = None
    seconds = WAIT_SECONDS if is_local else CLUSTER_WAIT_SECONDS
    try:
        client = Client(
            address, security=security, timeout=seconds, set_as_default=False, direct_to_workers=is_local or None
        )
        client.wait_for_workers(1, timeout=seconds)
        if not is_local:
            check_versions(client)
            send_plugins(client)
    except BaseException as error:
        if client is not None:
            client.close()
        if isinstance(error, OSError):  # includes timeouts
            raise InputError(f"No scheduler with a worker answers at {address}: {error}.") from error
        raise
    return client


def check_versions(client: Any) -> None:
    """Refuse a cluster where this program is missing or a worker has a different version of it."""
    found: dict[str, Any] = client.run(find_spec, "smfh")
    found["the scheduler"] = client.run_on_scheduler(find_spec, "smfh")
    if without := [worker for worker, spec in found.items() if spec is None]:
        raise InputError(f"smfh-explorer is not installed on {', '.join(without)}; install the same version.")
    versions = client.run(program_version, on_error="return")  # an old version may not have the function
    others = [
        f"{worker} runs {other if isinstance(other, str) else f'another version ({other})'}"
        for worker, other in versions.items()
        if other != program_version()
    ]
    if others:
        raise InputError(f"This is {program_version()}, but {', '.join(others)}: install the same version everywhere.")


def send_plugins(client: Any) -> None:
    """Send the files of plug-ins to the scheduler and all workers of a cluster, also to later workers."""
    from distributed import WorkerPlugin

    class PluginFiles(WorkerPlugin):
        name = "smfh-plugins"

        def __init__(self, texts: dict[str, str]) -> None:
            self.texts = texts

        def setup(self, worker: Any) -> None:
            for name, text in self.texts.items():
                load_text(name, text)

    if texts := {path.name: path.read_text(encoding="utf-8") for path in plugin_files() if path.is_file()}:
        for name, text in texts.items():
            client.run_on_scheduler(load_text, name, text)
        client.register_plugin(PluginFiles(texts))


@cache
def program_version() -> str:
    """Return the version of this program: a checksum of all its modules, and NumPy's version."""
    checksum = hash_modules(Path(smfh.__file__).parent)[:12]
    return f"smfh {checksum} with NumPy {np.__version__}"


def hash_modules(root: Path) -> str:
    """Return the SHA-256 of the names and contents of all modules below a folder."""
    digest = hashlib.sha256()
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def check_client_version(client: str) -> None:
    """Refuse a client with a different version of the program; "" is a local client, never refused."""
    if client and client != (worker := program_version()):
        raise InputError(f"A worker runs {worker}, the client {client}: install the same version on both.")


def check_address(address: str) -> None:
    """Refuse an address if data and code would be sent to it unencrypted over a network."""
    parts = urlsplit(address)
    if parts.scheme == "tls" and parts.hostname:
        return
    if parts.scheme != "tcp" or not parts.hostname:
        raise InputError(f"The address of a cluster is tls://HOST:PORT, or tcp://127.0.0.1:PORT; got {address}.")
    try:
        is_here = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise InputError(
            f"{address} is another machine, and tcp:// is not encrypted: anyone on the network could read "
            "the data or run programs there. Use tls:// with certificates, or tcp:// on this machine."
        )
