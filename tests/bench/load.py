"""A load generator of plain sockets: each connection plays one game after another and times every request of moves."""

import json
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
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


def play_service(connection: Connection, batch: int) -> Requests:
    """Play games on the service, one legal move after another; yield the seconds and moves of each request.

    With a batch, games of known deals are played as planned before, so many moves a request.
    """
    for number in count(random.randrange(PLANS)):
        planned = plan(number % PLANS) if batch > 1 else ()
        deal = {"deal": {"kind": "numbered", "number": str(number % PLANS)}} if planned else {}
        game = connection.post("/v1/games", deal)
        path, token = f"/v1/games/{game['id']}/moves", game["token"]
        while len(planned) >= batch or (batch == 1 and game["legal_moves"]):
            moves, planned = planned[:batch] or bare(game["legal_moves"][:1]), planned[batch:]
            start = time.perf_counter()
            game = connection.post(path, {"moves": moves}, token)["game"]
            yield time.perf_counter() - start, len(moves)


def bare(legal: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take from legal moves what a request says of them."""
    return [{"type": move["type"], "cells": move["cells"]} for move in legal]


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


def play_floor(connection: Connection, batch: int) -> Requests:
    """Send the floor requests of the same size; yield the seconds and moves of each."""
    state = {"grid": ["4C5HQC5D2D7HAH7S2CQH"] * 5, "legal_moves": [{"type": "remove", "cells": [{"row": 1}] * 2}] * 25}
    moves = [{"type": "remove", "cells": [{"row": 1, "column": 2}, {"row": 2, "column": 2}]}] * batch
    while True:
        path = f"/games/{connection.post('/games', state)['id']}/moves"
        for _ in range(40):
            start = time.perf_counter()
            connection.post(path, {"moves": moves})
            yield time.perf_counter() - start, batch


def load(
    player: Callable[[Connection, int], Requests], port: int, clients: int, seconds: float, batch: int = 1
) -> dict[str, float]:
    """Let clients play at once for a while; return moves a second and the percentiles of a request in ms.

    Only requests of moves count; games are dealt in time of their own.
    """
    stop, times, moves, errors = time.perf_counter() + seconds, [], [0] * clients, []

    def run(place: int) -> None:
        try:
            for taken, made in player(Connection(port), batch):
                times.append(taken)
                moves[place] += made
                if time.perf_counter() > stop:
                    return
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    cuts = statistics.quantiles(times, n=100)
    return {"rate": clients * sum(moves) / sum(times), "p50": cuts[49] * 1000, "p99": cuts[98] * 1000}
