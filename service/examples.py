"""Examples of the spec: a short session, really played against an app whose clock and randomness stand still.

They are true by construction: what the spec shows is what the service answered.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from flask import Flask
from flask.testing import FlaskClient

from service.api.spec import build
from service.api.world import set_world, world
from service.app import create_app
from service.migrate import migrate
from service.settings import Settings

_START = 1_793_491_200_000  # 2026-11-01T00:00:00Z


def build_spec() -> dict[str, Any]:
    """Return the spec with its examples."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(
            Settings(database_url=f"sqlite:///{Path(folder)}/examples.db", secret_key="x" * 32, signing_keys="e" * 43)
        )
        with app.app_context():
            ticks, draws, names = count(_START, 1000), count(1), count(1)
            still = replace(
                world(),
                now=lambda: next(ticks),
                random_bytes=lambda size: sha256(b"example %d" % next(draws)).digest()[:size],
                new_id=lambda now: UUID(f"019a3c5e-0000-7000-8000-{next(names):012x}"),
            )
            set_world(app, still)
            migrate(still.database)
        examples = _play(app)
        still.database.close()
        return build(app, examples)


def _play(app: Flask) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for operation, name, request, status, answer in _session(app.test_client()):
        found[operation].append({"name": name, "request": request, "status": status, "answer": answer})
    return found


def _session(client: FlaskClient) -> Iterator[tuple[str, str, Any, int, Any]]:
    def ask(operation: str, name: str, path: str, request: Any = None, token: str = "", **headers: str) -> Any:
        sent = {header.title(): value for header, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        method = "GET" if request is None else "PATCH" if operation == "change_game" else "POST"
        response = client.open(path, method=method, headers=sent, **({} if request is None else {"json": request}))
        exchanges.append((operation, name, request, response.status_code, response.json))
        return response.json

    def cells(*places: tuple[int, int]) -> list[dict[str, int]]:
        return [{"row": row, "column": column} for row, column in places]

    exchanges: list[tuple[str, str, Any, int, Any]] = []
    ask("get_health", "alive", "/healthz")
    # The spec is the same wherever it is made, with a compiler or without.
    ask("get_readiness", "ready", "/readyz")["checks"]["solver"] = "native"
    ask("list_variants", "all variants", "/v1/variants")
    ask("get_variant", "by an alias", "/v1/variants/weddings")
    ask("get_variant", "unknown", "/v1/variants/klondike")
    deal = ask("create_deal", "secret", "/v1/deals", {})
    ask("create_deal", "numbered", "/v1/deals", {"kind": "numbered", "number": "617"})
    ask("get_deal", "secret", f"/v1/deals/{deal['id']}")
    joint = {"deal": {"id": deal["id"], "client_seed": "correct horse battery staple"}}
    ask("create_game", "jointly shuffled", "/v1/games", joint)
    ask("create_game", "deal already used", "/v1/games", joint)
    ask("create_game", "own rules", "/v1/games", {"variant": "monte-carlo-thirteens", "rules": {"rows": 4}})
    game = ask("create_game", "numbered", "/v1/games", {"deal": {"kind": "pysol", "number": "24"}})
    here, token = f"/v1/games/{game['id']}", game["token"]
    ask("get_game", "just dealt", here)
    apart = {"type": "remove", "cells": cells((1, 2), (1, 4))}
    first = {"type": game["legal_moves"][0]["type"], "cells": game["legal_moves"][0]["cells"]}
    ask("make_moves", "first legal move", f"{here}/moves", {"moves": [first]}, token)
    ask("make_moves", "cards do not touch", f"{here}/moves", {"moves": [apart]}, token)
    ask("make_moves", "no token", f"{here}/moves", {"moves": [first]})
    closing = {"moves": [{"type": "close_up"}]}
    ask("make_moves", "dry run", f"{here}/moves?validate_only=true", closing, token)
    ask("make_moves", "minimal", f"{here}/moves", closing, token, prefer="return=minimal")
    twice = {"moves": [{"type": "undo"}, {"type": "redo"}]}
    ask("make_moves", "take back and make again", f"{here}/moves", twice, token)
    ask("list_events", "after the first", f"{here}/events?after=1&limit=2")
    ask("change_game", "a label", here, {"metadata": {"label": "first try"}}, token)
    table = {
        "variant": "simple-pairs",
        "stock": 0,
        "grid": [["5H", "5S", None], [None, "9C", None], ["QD", None, "QS"]],
    }
    ask("consider_position", "two pairs", "/v1/positions", table)
    ask("list_games", "the last two", "/v1/games?limit=2")
    ask("get_position", "as dealt", f"{here}/positions/1")
    ask("get_position", "not yet", f"{here}/positions/99")
    ask("give_hint", "first pair", f"{here}/hints", {"level": "first"}, token)
    ask("give_hint", "fair", f"{here}/hints", {"level": "fair", "samples": 50}, token)
    ask("make_moves", "resign", f"{here}/moves", {"moves": [{"type": "resign"}]}, token)
    ask("give_hint", "game over", f"{here}/hints", {}, token)
    ask("get_analysis", "resigned", f"{here}/analysis")
    ask("get_solution", "of a numbered deal", f"/v1/deals/{game['deal']['id']}/solution")
    ask("get_solution", "not revealed", f"/v1/deals/{deal['id']}/solution")
    ask("get_log", "resigned", f"{here}/log")
    ask("audit_game", "resigned", f"{here}/audit")
    log: Any = client.get(f"{here}/log").json
    ask("audit_log", "valid", "/v1/audits", log)
    log["events"][1]["data"]["cards"] = ["2D", "2H"]
    ask("audit_log", "another card", "/v1/audits", log)
    yield from exchanges
