"""A bot that plays through the public API only: the example for those who write one.

It sends a whole wave in one request, and asks again when the server is busy or the line breaks: each request has a
key of its own, so that one whose answer was lost is not carried out twice.
"""

import json
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.client import BadStatusLine, HTTPException, RemoteDisconnected
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

Json = Any
_TRIES = 10
_AGAIN = (429, 502, 503, 504)


class Refused(Exception):
    """The server refused a request for good; `problem` is its document."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(problem.get("detail", "no reason given"))
        self.problem = problem


class Unreachable(Exception):
    """No answer came, however often it was asked."""


class NoSuchServer(Exception):
    """What is there is not this API."""


class Server:
    """The API of one server. Raises `Refused`, `Unreachable` or `NoSuchServer`."""

    def __init__(
        self, url: str, pause: Callable[[float], None] = time.sleep, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Name a server; `told` gets the reason each time it has to be asked again."""
        if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", url):
            raise NoSuchServer("it must be as http://HOST or https://HOST")
        self.url, self.pause, self.told = url.rstrip("/"), pause, told

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
                    return _document(answer.read())
            except HTTPError as error:
                if error.code not in _AGAIN or tried == _TRIES:
                    raise Refused(_problem(error)) from None
                reason, wait = f"{error.code} {error.reason}", _seconds(error.headers.get("Retry-After"), wait)
            except (OSError, HTTPException) as error:  # an answer that breaks off is lost as one that never came
                if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
                    raise NoSuchServer(f"it answers {str(error)[:40]}") from None
                reason = str(error)
                if tried == _TRIES:
                    raise Unreachable(reason) from None
            except ValueError as error:  # of the URL
                raise NoSuchServer(str(error)) from None
            self.told(reason)
            # Not all bots at the same moment.
            self.pause(wait * random.uniform(1, 1.5))  # noqa: S311
        raise AssertionError("the last try returns or raises")


def _document(body: bytes) -> Json:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise NoSuchServer("it answers no JSON object")
    return document


def _seconds(header: str | None, otherwise: float) -> float:
    """Return how long a server asks to wait; where it names a date, as it may, what is usual."""
    return float(header) if header and header.isascii() and header.isdigit() else otherwise


def _problem(error: HTTPError) -> Mapping[str, Any]:
    try:
        found = json.load(error)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"status": error.code, "detail": error.reason}


def play(server: Server, variant: str, player: str) -> Iterator[Json]:
    """Deal a game and play it to its end; yield it as dealt and after each request."""
    game = server.post("/v1/games", {"variant": variant})
    if not {"id", "token", "legal_moves"} <= game.keys():
        raise NoSuchServer("it deals no game")
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
