"""The real server, started as an operator starts it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

MONTECARLO = str(Path(sys.executable).parent / "montecarlo")


def free_port() -> int:
    """Return a port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(folder: Path, *, before: Sequence[str] = (), **settings: str) -> Iterator[str]:
    """Run `montecarlo serve` in a folder and give its address once it is ready.

    before: a command that runs the command after it
    """
    with running(folder, before=before, **settings) as (url, _):
        yield url


@contextmanager
def running(
    folder: Path, *, before: Sequence[str] = (), environment: Mapping[str, str] = MappingProxyType({}), **settings: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run it likewise, and give its address and the process."""
    port = free_port()
    named = {f"MONTECARLO_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, **environment, **named}
    with (folder / "log").open("wb") as log:
        command = [*before, MONTECARLO, "serve", "--port", str(port)]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_until_ready(process, f"http://127.0.0.1:{port}/readyz", folder / "log")
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.terminate()
            process.wait(30)


def wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Return when a server answers. Raises `RuntimeError` if it ends, or does not answer within a minute."""
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: {log.read_text()}")
        try:
            with urlopen(url):
                return
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError("the server did not answer")


def ask(url: str, body: Any, token: str = "") -> Any:
    """Post JSON to a server and return its answer."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)
