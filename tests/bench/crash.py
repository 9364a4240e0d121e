"""Crashes under load: `python -m tests.bench.crash [ROUNDS]`.

Clients play on two workers while workers, and the PostgreSQL server, are killed with SIGKILL, and while the disk is full.
In the end every move that was acknowledged must be there with its hash, and every game must pass its audit.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import sqlalchemy as sa

from service import commands
from service.api.world import make_world
from service.settings import Settings
from service.store import events, game_ids, games
from tests import bot, postgresql
from tests.conftest import KEY, SECRET, text_of
from tests.server import running

CLIENTS = 8
MOVES_A_GAME = 40
CRASH_LOOP = 6  # seconds; workers that die sooner than that after they were replaced end the server


@dataclass
class Load:
    """Clients that play, and what they were told."""

    url: str
    acknowledged: list[tuple[str, int, str]] = field(default_factory=list)  # game, version, hash
    answers: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)

    def tell(self, request: Callable[[], Any]) -> Any:
        """Return what a request is answered, or None if it is not."""
        try:
            answer = request()
        except HTTPError as error:
            self.answers[str(error.code)] += 1
            time.sleep(0.05)
            return None
        except (OSError, HTTPException):
            self.answers["none"] += 1
            time.sleep(0.05)
            return None
        self.answers["good"] += 1
        return answer

    def play(self) -> None:
        """Play games until told to stop; what was not answered is looked at before it is done again."""
        while not self.stop.is_set():
            dealt = self.tell(lambda: bot.post(f"{self.url}/v1/games", {}))
            if dealt is None:
                continue
            here, token, game = f"{self.url}/v1/games/{dealt['id']}", dealt["token"], dealt
            self.acknowledged.append((dealt["id"], 1, dealt["head"]))
            for _ in range(MOVES_A_GAME):
                if self.stop.is_set() or not game["legal_moves"]:
                    break
                first = game["legal_moves"][0]
                move = {"type": first["type"], "cells": first["cells"]}
                answer = self.tell(lambda: bot.post(f"{here}/moves", {"moves": [move]}, token))  # noqa: B023
                if answer is None:
                    game = self.tell(lambda: look(here)) or game  # noqa: B023
                else:
                    game = answer["game"]
                    self.acknowledged += [(game["id"], event["version"], event["hash"]) for event in answer["events"]]


def look(url: str) -> Any:
    """Return the JSON at an address."""
    with urlopen(url) as answer:
        return json.load(answer)


@contextmanager
def playing(url: str) -> Iterator[Load]:
    """Let clients play."""
    load = Load(url)
    with ThreadPoolExecutor(CLIENTS) as pool:
        played = [pool.submit(load.play) for _ in range(CLIENTS)]
        try:
            yield load
        finally:
            load.stop.set()
    for client in played:
        client.result()


def workers(server: int) -> list[int]:
    """Return the process ids of the workers of a server."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    found = []
    for pid in map(int, children):
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def kill(pid: int) -> None:
    """Kill a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_cluster(cluster: postgresql.Cluster) -> None:
    """Kill a PostgreSQL server with all its processes, and start it again."""
    server = cluster.pid
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    for pid in (server, *map(int, children)):
        kill(pid)
    while any(Path(f"/proc/{pid}/stat").exists() for pid in map(int, children)):
        time.sleep(0.01)
    time.sleep(random.random() * 0.3)
    cluster.start()


def goes_on(load: Load) -> float:
    """Wait until moves are made again and return how long it took, in seconds."""
    start, before = time.monotonic(), len(load.acknowledged)
    while len(load.acknowledged) <= before + 2 * CLIENTS:
        time.sleep(0.01)
        if time.monotonic() - start > 120:
            raise RuntimeError("the service does not recover")
    return time.monotonic() - start


def check(database_url: str, load: Load) -> None:
    """Hold what is kept against what was acknowledged, audit every game, and print what was found."""
    world = make_world(Settings(database_url=database_url, secret_key=SECRET, signing_keys=KEY))
    with world.database.reading() as connection:
        query = sa.select(events.c.game, events.c.version, events.c.hash)
        kept = {(str(row.game), row.version): row.hash.hex() for row in connection.execute(query)}
        heads = connection.execute(sa.select(games.c.version)).scalars()
        half = sum(heads) - len(kept)
        lost = [told for told in load.acknowledged if kept.get(told[:2]) != told[2]]
        verdicts = [commands.audit_stored(world, id) for id in game_ids(connection)]
    world.database.close()
    false = sum(not verdict.valid for verdict in verdicts)
    shown = ", ".join(f"{count} {kind}" for kind, count in load.answers.most_common())
    print(f"  answers: {shown}; events acknowledged: {len(load.acknowledged)}, lost: {len(lost)}")
    print(f"  games kept: {len(verdicts)}, false: {false}; events more or less than the rows of games say: {half}")
    if lost or false or half:
        raise SystemExit("not everything is there")


def settings(database_url: str) -> dict[str, str]:
    """Return the settings of the server."""
    return {
        "database_url": database_url,
        "secret_key": SECRET,
        "signing_keys": KEY,
        "workers": "2",
        "rate_limits": "off",
        "log_level": "error",
    }


def kills(kind: str, folder: Path, rounds: int) -> None:
    """Kill workers, and every second round the PostgreSQL server if there is one."""
    with ExitStack() as stack:
        cluster = None
        url = f"sqlite:///{folder}/kills.db"
        if kind == "postgresql":
            cluster = postgresql.Cluster(folder / "kills")
            cluster.make()
            cluster.start()
            stack.callback(cluster.stop)
            url = text_of(cluster.url)
        calm = 0.0
        pauses: dict[str, list[float]] = {"worker": [], "server": []}
        with running(folder, **settings(url)) as (here, process), playing(here) as load:
            for number in range(rounds):
                time.sleep(0.1 + random.random() * 0.5)
                if cluster and number % 2:
                    kill_cluster(cluster)
                    pauses["server"].append(goes_on(load))
                else:
                    time.sleep(max(0, calm - time.monotonic()))
                    for pid in random.sample(found := workers(process.pid), random.randint(1, max(1, len(found)))):
                        kill(pid)
                    pauses["worker"].append(goes_on(load))
                    calm = time.monotonic() + CRASH_LOOP
                print(f"\r{kind} {number + 1}/{rounds}", end="", file=sys.stderr, flush=True)
        told = ", ".join(
            f"{len(taken)} of a {what} (longest pause {max(taken):.1f} s)" for what, taken in pauses.items() if taken
        )
        print(f"\r{kind}, killed {told}:")
        check(url, load)


def full_disk(kind: str, rounds: int) -> None:
    """Fill a small disk with the database on it, and free it again; the disk is seen by this process alone."""
    with tempfile.TemporaryDirectory(prefix="montecarlo-crash-") as name, ExitStack() as stack:
        folder, disk = Path(name), Path(name) / "disk"
        folder.chmod(0o755)
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "none", disk], check=True)
        stack.callback(subprocess.run, ["umount", disk], check=True)
        cluster = None
        url = f"sqlite:///{disk}/full.db"
        if kind == "postgresql":
            cluster = postgresql.Cluster(disk / "cluster", max_wal_size="64MB")
            cluster.make()
            cluster.start()
            stack.callback(cluster.stop)
            url = text_of(cluster.url)
        restarts = 0
        with running(folder, **settings(url)) as (here, _), playing(here) as load:
            goes_on(load)
            for number in range(rounds):
                with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                    while True:
                        filler.write(bytes(4096))
                before = load.answers["503"]
                while load.answers["503"] < before + CLIENTS:
                    time.sleep(0.01)
                (disk / "filler").unlink()
                if cluster and not Path(f"/proc/{cluster.pid}").exists():
                    # Without room for its log PostgreSQL ends, and whoever runs it starts it again.
                    restarts += 1
                    cluster.start()
                goes_on(load)
                print(f"\rfull disk {number + 1}/{rounds}", end="", file=sys.stderr, flush=True)
        print(f"\r{kind}, disk full {rounds} times, server to be started again {restarts} times:")
        check(url, load)


def main(rounds: int = 50) -> None:
    """Crash everything."""
    with tempfile.TemporaryDirectory(prefix="montecarlo-crash-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for kind in ("sqlite", "postgresql"):
            kills(kind, folder, rounds)
    for kind in ("sqlite", "postgresql"):
        if os.geteuid() and kind == "postgresql":
            print("postgresql on a full disk: only root can mount a disk that another user may write to")
            break
        private = ["unshare", "--mount", *["--map-root-user"] * bool(os.geteuid())]
        itself = [sys.executable, "-m", "tests.bench.crash", "full-disk", kind, str(max(1, rounds // 5))]
        subprocess.run([*private, *itself], check=True)


if __name__ == "__main__":
    socket.setdefaulttimeout(20)
    if sys.argv[1:2] == ["full-disk"]:
        full_disk(sys.argv[2], int(sys.argv[3]))
    else:
        main(*map(int, sys.argv[1:]))
