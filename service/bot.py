"""A bot that plays through the public API only: the example for those who write one.

It sends a whole wave in one request, and asks again when the server is busy or the line breaks: each request has a
key of its own, so that one whose answer was lost is not carried out twice.
"""

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

Json = Any
_TRIES = 10
_AGAIN = (429, 502, 503, 504)


class Refused(Exception):
    """The server refused a request for good; `problem` is its document."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(problem.get("detail", "no reason given"))
        self.problem = problem


class Server:
    """The API of one server."""

    def __init__(self, url: str, pause: Callable[[float], None] = time.sleep) -> None:
        self.url, self.pause = url.rstrip("/"), pause

    def get(self, path: str, token: str = "") -> Json:
        """Read something; asked again until it is answered."""
        return self._ask(path, None, token, {})

    def post(self, path: str, body: Json, token: str = "") -> Json:
        """Send something; asked again until it is answered, and carried out once."""
        return self._ask(path, json.dumps(body).encode(), token, {"Idempotency-Key": f'"{uuid.uuid4()}"'})

    def _ask(self, path: str, data: bytes | None, token: str, headers: dict[str, str]) -> Json:
        headers["Content-Type"] = "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        for tried in range(1, _TRIES + 1):
            wait = 0.1 * 2**tried
            try:
                with urlopen(Request(self.url + path, data, headers), timeout=30) as answer:  # noqa: S310
                    return json.load(answer)
            except HTTPError as error:
                if error.code not in _AGAIN or tried == _TRIES:
                    raise Refused(_problem(error)) from None
                wait = float(error.headers.get("Retry-After") or wait)
            except (URLError, ConnectionError, TimeoutError):
                if tried == _TRIES:
                    raise
            # Not all bots at the same moment.
            self.pause(wait * random.uniform(1, 1.5))  # noqa: S311
        raise AssertionError("the last try returns or raises")


def _problem(error: HTTPError) -> Mapping[str, Any]:
    try:
        found = json.load(error)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"status": error.code, "detail": error.reason}


def play(server: Server, variant: str, player: str) -> Iterator[Json]:
    """Deal a game and play it to its end; yield it as dealt and after each request."""
    game = server.post("/v1/games", {"variant": variant})
    yield game
    path, token = f"/v1/games/{game['id']}", game["token"]
    while game["legal_moves"]:
        moves = PLAYERS[player](server, path, token, game)
        game = server.post(f"{path}/moves", {"moves": moves}, token)["game"]
        yield game


def _sent(move: Json) -> Json:
    return {"type": move["type"], "cells": move["cells"]}


def _wave(legal: Sequence[Json]) -> list[Json]:
    """Take removals of different cells in turn, then close up: all stay legal, whatever the rules say of pairs."""
    moves: list[Json] = []
    used: set[tuple[int, int]] = set()
    for move in legal:
        cells = {(cell["row"], cell["column"]) for cell in move["cells"]}
        if move["type"] == "remove" and not used & cells:
            used |= cells
            moves.append(_sent(move))
    return moves or [_sent(legal[0])]


def _first(server: Server, path: str, token: str, game: Json) -> list[Json]:
    # A removal that deals cards by itself must be the last of its batch.
    return [_sent(game["legal_moves"][0])] if game["rules"]["close_up"] == "auto" else _wave(game["legal_moves"])


def _random(server: Server, path: str, token: str, game: Json) -> list[Json]:
    return [_sent(random.choice(game["legal_moves"]))]  # noqa: S311


def _fair(server: Server, path: str, token: str, game: Json) -> list[Json]:
    plan: list[Json] = server.post(f"{path}/hints", {"level": "fair"}, token)["plan"]
    return plan


# Each chooses the moves of the next request from what the API says, and knows no rules.
PLAYERS: Mapping[str, Callable[[Server, str, str, Json], list[Json]]] = {
    "first": _first,
    "random": _random,
    "fair": _fair,
}
