"""Latency of moves beside watchers, as ratios to none: `python -m tests.bench.streams [SECONDS]`."""

import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from tests.bench.load import Connection
from tests.server import ask, serving

WATCHERS = (0, 100, 500)


def watch(port: int, path: str, count: int) -> None:
    """Open streams, say so, and read them until standard input closes; print how many events came."""
    waiting = selectors.DefaultSelector()
    for _ in range(count):
        stream = socket.create_connection(("127.0.0.1", port), 60)
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n".encode())
        assert b" 200 " in stream.recv(4096)
        stream.setblocking(False)
        waiting.register(stream, selectors.EVENT_READ)
    print("ready", flush=True)
    waiting.register(sys.stdin, selectors.EVENT_READ)
    events = 0
    while True:
        for key, _ in waiting.select():
            if key.fileobj is sys.stdin:
                print(events)
                return
            events += key.fileobj.recv(65536).count(b"id: ")  # type: ignore[union-attr]


def moves(port: int, path: str, token: str, seconds: float) -> list[float]:
    """Undo and redo for a while; return the milliseconds each took."""
    connection, times, turn = Connection(port), [], 0
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        connection.post(f"{path}/moves", {"moves": [{"type": ("undo", "redo")[turn % 2]}]}, token)
        times.append((time.perf_counter() - start) * 1000)
        turn += 1
    return times


def measure(url: str, count: int, seconds: float, *, same: bool) -> tuple[float, float, int, int]:
    """Return median and 99th percentile of a move's milliseconds beside watchers, events told, and moves made."""
    port = int(url.rpartition(":")[2])
    game, other = (ask(f"{url}/v1/games", {"deal": {"kind": "pysol", "number": "24"}}) for _ in range(2))
    first = {"type": "remove", "cells": game["legal_moves"][0]["cells"]}
    ask(f"{url}/v1/games/{game['id']}/moves", {"moves": [first]}, game["token"])
    watched = f"/v1/games/{(game if same else other)['id']}/events?after=999"
    command = [sys.executable, "-m", "tests.bench.streams", "watch", str(port), watched, str(count)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if count
        else nullcontext() as watchers
    ):
        if watchers:
            assert watchers.stdout.readline() == "ready\n"
        times = moves(port, f"/v1/games/{game['id']}", game["token"], seconds)
        time.sleep(1)
        told = int(watchers.communicate("")[0]) if watchers else 0
    return statistics.median(times), statistics.quantiles(times, n=100)[98], told, len(times)


def main(seconds: float = 5) -> None:
    """Print a table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), rate_limits="off", workers="2", heartbeat="2") as url,
    ):
        measure(url, 0, 1, same=False)
        print("watchers  of            p50 ms  ratio  p99 ms  ratio  events told")
        base = None
        for count in WATCHERS:
            for same in (False, True) if count else (False,):
                time.sleep(3)  # those who hung up are missed at the next sign of life
                p50, p99, told, made = measure(url, count, seconds, same=same)
                base = base or (p50, p99)
                of = "the same game" if same else "other games" if count else "none"
                share = f"{told} of {made * count}" if same else ""
                print(
                    f"{count:>8}  {of:<13} {p50:>6.2f} {p50 / base[0]:>6.2f} {p99:>7.2f} {p99 / base[1]:>6.2f}  {share}"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["watch"]:
        watch(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main(*map(float, sys.argv[1:]))
