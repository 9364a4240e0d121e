"""Ten minutes of all that clients do: `python -m tests.bench.soak [MINUTES] [DATABASE URL]`.

Players, watchers who come and go, hints, audits, lists, logs, pictures and nonsense, on two workers. Each line tells the
memory, the open files and the threads of all processes, and what was answered. In the end all games are audited. Memory
is flat if what the workers hold at the end is what they held when a third of the time was over.
"""

import json
import random
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from service import commands
from service.api.world import make_world
from service.engine.rules import VARIANTS
from service.settings import Settings
from service.store import game_ids
from tests.bench.crash import workers
from tests.conftest import KEY, SECRET
from tests.server import running

LINES = 20  # that are printed, whatever the time


class Clients:
    """All clients, and what they were answered."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: Counter[int] = Counter()
        self.moves = self.told = 0
        self.faults: list[str] = []
        self.stop = threading.Event()
        self._games: list[tuple[str, str]] = []

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request and return the answer, or None if it is no good one."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.url + path, data, {"Content-Type": "application/json", **named}, method=method)
        try:
            with urlopen(request, timeout=30) as response:
                self.answers[response.status] += 1
                return response.read()
        except HTTPError as error:
            self.answers[error.code] += 1
            if error.code >= 500 and error.code != 503:
                self.faults.append(f"{method} {path}: {error.code} {error.read()[:200]!r}")
            return None

    def any_game(self) -> tuple[str, str]:
        """Return the path and the token of one of the last games."""
        while not self._games and not self.stop.wait(0.1):
            pass
        return random.choice(self._games)

    def play(self) -> None:
        """Play games of all variants by single moves."""
        game = json.loads(self.ask("POST", "/v1/games", {"variant": random.choice(list(VARIANTS))}))
        here, token = f"/v1/games/{game['id']}", game["token"]
        self._games = [*self._games[-99:], (here, token)]
        while game["legal_moves"] and not self.stop.is_set():
            moves = {"moves": [{"type": move["type"], "cells": move["cells"]} for move in game["legal_moves"][:1]]}
            made = self.ask("POST", f"{here}/moves", moves, Authorization=f"Bearer {token}")
            self.moves += made is not None
            # Another client may have undone what this move stands on.
            game = json.loads(made)["game"] if made else json.loads(self.ask("GET", here))

    def retry(self) -> None:
        """Undo and redo, each sent twice under one key."""
        here, token = self.any_game()
        for type in ("undo", "redo"):
            key = str(uuid.uuid4())
            for _ in range(2):
                body = {"moves": [{"type": type}]}
                self.ask("POST", f"{here}/moves", body, Authorization=f"Bearer {token}", Idempotency_Key=key)

    def watch(self) -> None:
        """Watch a game for a while and go."""
        here, _ = self.any_game()
        request = Request(f"{self.url}{here}/events", headers={"Accept": "text/event-stream"})
        with suppress(OSError, HTTPException), urlopen(request, timeout=2) as stream:
            self.answers[stream.status] += 1
            for line in stream:
                self.told += line.startswith(b"data:")
                if self.stop.is_set() or random.random() < 0.02:
                    return

    def hint(self) -> None:
        """Ask for a hint."""
        here, token = self.any_game()
        self.ask("POST", f"{here}/hints", {"level": "fair", "samples": 10}, Authorization=f"Bearer {token}")

    def look(self) -> None:
        """Read all that can be read."""
        here, _ = self.any_game()
        paths = ("", "/events", "/log", "/audit", "/board.svg", "/replay.svg", "/board.txt", "/analysis")
        for path in (*(here + path for path in paths), "/v1/games?limit=50", "/v1/variants", "/docs", "/metrics"):
            self.ask("GET", path)

    def nonsense(self) -> None:
        """Send what no client of good will sends."""
        here, token = self.any_game()
        deep = b"[" * 10_000
        for body in (random.randbytes(1000), deep, b'{"moves": []}', b'{"moves": [{"type": "\xff"}]}'):
            self.ask("POST", f"{here}/moves", body, Authorization=f"Bearer {token}")
        self.ask("GET", f"/{random.randbytes(20).hex()}")
        log = self.ask("GET", f"{here}/log")
        self.ask("POST", "/v1/audits", (log or b"").replace(b"1", b"2", 1))

    def keep_on(self, what: Callable[[], None]) -> None:
        """Do something again and again."""
        while not self.stop.is_set():
            try:
                what()
            except Exception as error:
                if not self.stop.is_set():
                    self.faults.append(f"{what.__name__}: {error!r}")
            self.stop.wait(random.random() * 0.2)

    def jobs(self) -> list[threading.Thread]:
        """Return the threads of all clients."""
        what = [self.play] * 4 + [self.watch] * 8 + [self.retry, self.hint, self.look, self.look, self.nonsense]
        return [threading.Thread(target=self.keep_on, args=(job,)) for job in what]


def held(processes: list[int]) -> tuple[float, int, int]:
    """Return the memory of processes in MB, each page counted once, and their open files and threads."""
    memory = 0
    for pid in processes:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        memory += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    files, threads = (
        sum(len(list(Path(f"/proc/{pid}/{what}").iterdir())) for pid in processes) for what in ("fd", "task")
    )
    return memory / 1024, files, threads


def main(minutes: float = 10, database_url: str = "") -> None:
    """Print a line every so often, and what was found in the end."""
    with tempfile.TemporaryDirectory() as folder:
        url = database_url or f"sqlite:///{folder}/soak.db"
        settings = {
            "database_url": url,
            "secret_key": SECRET,
            "signing_keys": KEY,
            "rate_limits": "off",
            "workers": "2",
        }
        with running(Path(folder), **settings, heartbeat="1", log_level="error") as (here, process):
            clients, memory = Clients(here), []
            threads = clients.jobs()
            for thread in threads:
                thread.start()
            print("minute files threads  moves/s    MB")
            for line in range(1, LINES + 1):
                before, start = clients.moves, time.monotonic()
                time.sleep(minutes * 60 / LINES)
                mb, files, count = held([process.pid, *workers(process.pid)])
                memory.append(mb)
                rate = (clients.moves - before) / (time.monotonic() - start)
                drawn = "█" * round(mb / 10)
                print(
                    f"{minutes * line / LINES:>6.1f} {files:>5} {count:>7} {rate:>8.0f} {mb:>5.0f} {drawn}", flush=True
                )
            clients.stop.set()
            for thread in threads:
                thread.join(60)
            # But for the first, which says where it listens, there is a line only for what went wrong.
            clients.faults += (Path(folder) / "log").read_text().splitlines()[1:]
        world = make_world(Settings(database_url=url, secret_key=SECRET, signing_keys=KEY))
        with world.database.reading() as connection:
            valid = Counter(commands.audit_stored(world, id).valid for id in game_ids(connection))
        world.database.close()
    third = LINES // 3
    growth = statistics.median(memory[-third:]) / statistics.median(memory[third : 2 * third])
    print(", ".join(f"{count} of {status}" for status, count in sorted(clients.answers.items())))
    print(f"{clients.moves} moves, {clients.told} events told; audited: {valid[True]} valid, {valid[False]} false")
    print(
        f"memory at the end to that of the middle: {growth:.2f}; faults, lines in the log among them: {len(clients.faults)}"
    )
    for fault in clients.faults[:20]:
        print(fault)
    if clients.faults or valid[False]:
        raise SystemExit("not everything went well")


if __name__ == "__main__":
    main(*(float(argument) if not place else argument for place, argument in enumerate(sys.argv[1:])))  # type: ignore[arg-type]
