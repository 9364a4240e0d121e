"""A load generator of plain sockets: each connection plays one game after another and times every request of moves.

All games are dealt before the clock starts, so that only moves are under way while it runs.
"""

import json
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from service.engine.deals import number_seed, v1_order
from service.engine.events import Deal, Dealt
from service.engine.game import apply, begin, fold_all
from service.engine.rules import VARIANTS

Requests = Iterator[tuple[float, int]]


class Connection:
    """One kept-alive HTTP connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = self._socket.makefile("rb")

    def post(self, path: str, body: Any, token: str = "") -> Any:
        """Post JSON, return the JSON of the answer. Raises `OSError` unless the answer is 201."""
        text = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(text)}\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        self._socket.sendall(head.encode() + b"\r\n" + text)
        status, length = self._read.readline(), 0
        while (line := self._read.readline()) != b"\r\n":
            if not line:
                raise OSError("the connection was closed")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answer = self._read.read(length)
        if b" 201 " not in status:
            raise OSError(f"{status!r} {answer!r}")
        return json.loads(answer)


def play_service(connection: Connection, batch: int, ahead: int) -> Requests:
    """Deal so many games on the service; yield the seconds and moves of each request that plays them as planned.

    What is left of a plan for no whole batch is not played.
    """
    numbers = [random.randrange(PLANS) for _ in range(ahead)]
    games = [
        (number, connection.post("/v1/games", {"deal": {"kind": "numbered", "number": str(number)}}))
        for number in numbers
    ]

    def play() -> Requests:
        for number, game in games:
            planned, path, token = plan(number), f"/v1/games/{game['id']}/moves", game["token"]
            for first in range(0, len(planned) - batch + 1, batch):
                start = time.perf_counter()
                connection.post(path, {"moves": planned[first : first + batch]}, token)
                yield time.perf_counter() - start, batch

    return play()


PLANS = 100


@cache
def plan(number: int) -> tuple[dict[str, Any], ...]:
    """Return the moves of a numbered deal that a first-pair player makes."""
    rules = VARIANTS["monte-carlo"].rules
    order = v1_order(rules.pack, number_seed(number))
    game = begin(Dealt("", rules, Deal("numbered"), order[: rules.size], rules.pack.size - rules.size))
    moves: list[dict[str, Any]] = []
    while game.status == "playing":
        move = game.legal_moves[0]
        game = fold_all(game, apply(game, move, order))
        cells = [{"row": cell.row, "column": cell.column} for cell in move.cells]
        moves.append({"type": move.type, "cells": cells} if cells else {"type": move.type})
    return tuple(moves)


def play_floor(connection: Connection, batch: int, ahead: int) -> Requests:
    """Make so many rows on the floor; yield likewise what sends them requests of the same size."""
    state = {"grid": ["4C5HQC5D2D7HAH7S2CQH"] * 5, "legal_moves": [{"type": "remove", "cells": [{"row": 1}] * 2}] * 25}
    moves = [{"type": "remove", "cells": [{"row": 1, "column": 2}, {"row": 2, "column": 2}]}] * batch
    paths = [f"/games/{connection.post('/games', state)['id']}/moves" for _ in range(ahead)]

    def play() -> Requests:
        for path in paths:
            for _ in range(25):
                start = time.perf_counter()
                connection.post(path, {"moves": moves})
                yield time.perf_counter() - start, batch

    return play()


def load(
    player: Callable[[Connection, int, int], Requests],
    port: int,
    clients: int,
    seconds: float,
    batch: int,
    ahead: int,
) -> dict[str, float]:
    """Let clients play at once for a while; return moves a second and the percentiles of a request in ms.

    ahead: games that each client deals before; who has played them all stops the clock for all
    """
    times: list[float] = []
    moves, errors, over = [0] * clients, [], threading.Event()
    lined_up = threading.Barrier(clients + 1)

    def run(place: int) -> None:
        try:
            requests = player(Connection(port), batch, ahead)
            lined_up.wait()
            for taken, made in requests:
                if over.is_set():
                    return
                times.append(taken)
                moves[place] += made
            over.set()
        except Exception as error:
            errors.append(error)
            lined_up.abort()
            over.set()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    with suppress(threading.BrokenBarrierError):
        lined_up.wait()
    start = time.perf_counter()
    over.wait(seconds)
    taken = time.perf_counter() - start
    over.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    cuts = statistics.quantiles(times, n=100)
    return {"rate": sum(moves) / taken, "p50": cuts[49] * 1000, "p99": cuts[98] * 1000}
