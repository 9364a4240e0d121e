"""Throughput of POST moves against the floor, in turns: `python -m tests.bench.moves [ROUNDS] [SECONDS]`."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import load
from tests.server import free_port

CLIENTS = (1, 8, 64)


@contextmanager
def running(command: list[str], environment: dict[str, str], port: int) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


def main(rounds: int = 3, seconds: float = 4) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        ours, floor = free_port(), free_port()
        database = {"FLOOR_DATABASE": str(Path(folder) / "floor.db")}
        make = [sys.executable, "-c", "from tests.bench import floor; floor.make()"]
        subprocess.run(make, env=os.environ | database, check=True)
        granian = ["granian", "--interface", "wsgi", "--workers", "2", "--blocking-threads", "64", "--port", str(floor)]
        url = {"MONTECARLO_DATABASE_URL": f"sqlite:///{folder}/ours.db", "MONTECARLO_RATE_LIMITS": "off"}
        with (
            running(["montecarlo", "serve", "--port", str(ours)], url, ours),
            running([*granian, "tests.bench.floor:app"], database, floor),
        ):
            print(" clients  batch  floor/s   ours/s  ratio  p50 ms  p99 ms  floor p50, p99")
            for clients, batch in [*((clients, 1) for clients in CLIENTS), (8, 8)]:
                measured = []
                for _ in range(rounds):
                    measured.append(
                        (
                            load.load(load.play_floor, floor, clients, seconds),
                            load.load(load.play_service, ours, clients, seconds, batch),
                        )
                    )
                    print(f"\r{clients:>8} round {len(measured)}/{rounds}", end="", file=sys.stderr, flush=True)
                print("\r", end="", file=sys.stderr)
                base, mine = (
                    {key: statistics.median(pair[side][key] for pair in measured) for key in ("rate", "p50", "p99")}
                    for side in (0, 1)
                )
                ratio = statistics.median(m[1]["rate"] / m[0]["rate"] for m in measured)
                print(
                    f"{clients:>8} {batch:>6} {base['rate']:>8.0f} {mine['rate']:>8.0f} {ratio:>6.2f} "
                    f"{mine['p50']:>7.2f} {mine['p99']:>7.2f}  {base['p50']:.2f}, {base['p99']:.2f}"
                )


if __name__ == "__main__":
    main(*(float(argument) if place else int(argument) for place, argument in enumerate(sys.argv[1:])))
