"""Moves a second beside boardgame.io's server: `python -m tests.bench.peers [ROUNDS] [SECONDS]`.

The job: create a game, make moves one after another, each validated, and read the state after each. All players follow
one policy: remove the first pair in reading order while there is one, then close up.

One load generator (`load.js`) plays for all of them. It is in node, as the client of boardgame.io's protocol is, and
because one in Python takes more of the processor that it shares with the server. What differs:
- boardgame.io is talked to in its own protocol, one websocket a player; the others by HTTP on plain sockets, kept alive.
- It answers before it has stored a move, and never waits for the disk; the others answer when the move is durable.
- With `return=minimal` the state is read where a player needs it: after each close-up, and at the end.
- With whole waves all removals of different cells and the close-up are one request, whose time the percentiles are of.
- The floors of `tests.bench.moves` know no rules: they answer the state they were given, and each of their games takes 24
  moves.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from tests.bench.moves import floor, running, want_gunicorn
from tests.server import free_port, serving

HERE = Path(__file__).parent
CONNECTIONS = (1, 8, 64)
Figures = Mapping[str, float]


@contextmanager
def boardgame(folder: Path, *, files: bool) -> Iterator[int]:
    """Run boardgame.io's server, with games in memory or with the file storage it ships, and give its port.

    Its file storage syncs nothing to the disk. It is on the node-persist that it was built with: later ones hold writes
    back for up to a second, and a player alone waits for each.
    """
    port = free_port()
    command = ["node", str(folder.parent / "node/server.js"), str(port), *([str(folder)] if files else [])]
    with running(command, {"NODE_ENV": "production"}, port):
        yield port


@contextmanager
def service(folder: Path) -> Iterator[int]:
    """Run the service on SQLite and give its port."""
    with serving(folder, rate_limits="off") as url:
        yield int(url.rpartition(":")[2])


# What it is, how its server is run, and who plays.
SYSTEMS: Mapping[str, tuple[Callable[[Path], AbstractContextManager[int]], str]] = {
    "boardgame.io, memory": (partial(boardgame, files=False), "boardgame"),
    "boardgame.io, files": (partial(boardgame, files=True), "boardgame"),
    "floor": (lambda folder: floor(str(folder / "floor.db")), "floor"),
    "floor, tuned": (lambda folder: floor(str(folder / "floor.db"), tuned=True), "floor"),
    "service, single moves": (service, "single"),
    "service, return=minimal": (service, "minimal"),
    "service, whole waves": (service, "wave"),
}
OURS = list(SYSTEMS)[4:]


def measure(node: Path, player: str, port: int, connections: int, seconds: int) -> Figures:
    """Let players play at once for a while; return moves a second and the percentiles of a request in ms."""
    command = ["node", str(node / "load.js"), player, str(port), str(connections), str(seconds)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=seconds + 60)
    figures: Figures = json.loads(ended.stdout)
    return figures


def sync_time(folder: Path) -> float:
    """Return the milliseconds that a small write takes to be durable there, the median of a hundred."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as probe:
        for _ in range(100):
            start = time.perf_counter()
            probe.write(b"x" * 4096)
            os.fdatasync(probe.fileno())
            times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def say(text: str) -> None:
    """Tell whoever waits."""
    print(text, file=sys.stderr, flush=True)


def run(scratch: Path, rounds: int, seconds: int) -> dict[tuple[str, int], list[Figures]]:
    """Measure all systems in turns, each round on new servers and empty storage."""
    measured: dict[tuple[str, int], list[Figures]] = {}
    for turn in range(1, rounds + 1):
        say(
            f"round {turn} of {rounds}: load {os.getloadavg()[0]:.1f}, a write is durable in {sync_time(scratch):.2f} ms"
        )
        for system, (server, player) in SYSTEMS.items():
            # Each its own: boardgame.io's server may still write a file when it has been told to stop.
            folder = Path(tempfile.mkdtemp(dir=scratch))
            with server(folder) as port:
                for connections in CONNECTIONS:
                    figures = measure(scratch / "node", player, port, connections, seconds)
                    measured.setdefault((system, connections), []).append(figures)
                    say(f"  {system}, {connections} connections: {figures['rate']:.0f} moves/s")
            shutil.rmtree(folder, ignore_errors=True)
    return measured


def show(measured: Mapping[tuple[str, int], list[Figures]]) -> None:
    """Print a table of medians; the ratios are those within a round."""
    print(f"{'':<24}  clients  moves/s   p50 ms   p99 ms  ours to it: single  minimal   waves")
    for (system, connections), rounds in sorted(measured.items(), key=lambda item: item[0][1]):
        rate, p50, p99 = (statistics.median(figures[key] for figures in rounds) for key in ("rate", "p50", "p99"))
        ratios = [
            statistics.median(
                ours["rate"] / its["rate"] for ours, its in zip(measured[name, connections], rounds, strict=True)
            )
            for name in OURS
        ]
        print(
            f"{system:<24} {connections:>8} {rate:>8.0f} {p50:>8.2f} {p99:>8.2f} "
            f"{ratios[0]:>19.2f} {ratios[1]:>8.2f} {ratios[2]:>7.2f}"
        )


def main(rounds: int = 3, seconds: int = 4) -> None:
    """Install boardgame.io, measure, and print a table."""
    missing = [tool for tool in ("node", "npm") if not shutil.which(tool)]
    if missing:
        say(f"This needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed here.")
        sys.exit(2)
    want_gunicorn()
    # Releases of node differ by more than a factor of two on this job.
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    print(f"node {version}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder) / "node"
        shutil.copytree(HERE, node, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        say("npm installs boardgame.io")
        if subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=node).returncode:
            say("npm could not install what package.json lists.")
            sys.exit(2)
        show(run(Path(folder), rounds, seconds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
