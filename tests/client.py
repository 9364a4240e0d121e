"""A test client that holds every answer against the published spec."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask
from jsonschema import Draft202012Validator, FormatChecker
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

SPEC = json.loads((Path(__file__).parent.parent / "openapi/openapi.json").read_text())


def closed(schema: Any) -> Any:
    """Close every object schema, so that a field that the spec does not know is found."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


COMPONENTS = closed(SPEC["components"])


@cache
def validator(reference: str) -> Draft202012Validator:
    """Return what checks a document against a component of the spec."""
    return Draft202012Validator({"$ref": reference, "components": COMPONENTS}, format_checker=FormatChecker())


def operation(app: Flask, path: str, method: str) -> Any:
    """Return the documentation of the operation that answers a request, or None where there is none."""
    try:
        rule, _ = app.url_map.bind("localhost").match(path.partition("?")[0], method=method, return_rule=True)
    except HTTPException:
        return None
    template = "".join(f"{{{part}}}" if dynamic else part for dynamic, part in rule._trace).removeprefix("|")
    return SPEC["paths"].get(template, {}).get(method.lower())


class Client:
    """Asks an app and checks every answer before it gives it on."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def get(self, path: str, token: str | None = None, **options: Any) -> TestResponse:
        """Ask with GET."""
        return self.ask("GET", path, token, **options)

    def post(self, path: str, body: Any = None, token: str | None = None, **options: Any) -> TestResponse:
        """Ask with POST and a JSON body."""
        return self.ask("POST", path, token, **({} if body is None else {"json": body}), **options)

    def ask(self, method: str, path: str, token: str | None = None, **options: Any) -> TestResponse:
        """Ask, and check the answer."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **options.pop("headers", {})}
        response = self.app.test_client().open(path, method=method, headers=headers, buffered=True, **options)
        self.check(response, operation(self.app, path, method))
        return response

    @staticmethod
    def check(response: TestResponse, documented: Any) -> None:
        """Hold an answer against what the spec says."""
        assert response.status_code != 500, response.text
        if documented is None:
            if response.status_code >= 400:
                validator("#/components/schemas/Problem").validate(response.json)
            return
        responses = documented["responses"]
        said = responses.get(str(response.status_code)) or responses.get(f"{response.status_code // 100}XX")
        assert said, f"{response.status_code} is not documented: {response.text}"
        for name, header in said["headers"].items():
            assert name in response.headers or not header["required"], f"{name} is missing"
        if response.status_code in (204, 304):
            assert not response.data
            return
        content = said["content"].get(response.mimetype)
        assert content, f"{response.mimetype} is not documented"
        if "$ref" not in content["schema"]:
            return
        validator(content["schema"]["$ref"]).validate(response.json)
        if response.status_code >= 400:
            assert response.mimetype == "application/problem+json"
            assert f"`{response.json['code']}`" in said["description"], f"{response.json['code']} is not documented"

    def deal(self, variant: str = "monte-carlo", **body: Any) -> Any:
        """Deal a game and return it with its token."""
        response = self.post("/v1/games", {"variant": variant, **body})
        assert response.status_code == 201, response.text
        return response.json

    def move(self, game: Any, *moves: Any) -> TestResponse:
        """Make moves, each as `"close_up"` or as cells `[(1, 1), (2, 2)]`, with the game's token."""
        return self.post(f"/v1/games/{game['id']}/moves", {"moves": [as_move(move) for move in moves]}, game["token"])

    def play(self, game: Any, *moves: Any) -> Any:
        """Make moves that must succeed and return the game."""
        response = self.move(game, *moves)
        assert response.status_code == 201, response.text
        return response.json["game"] | {"token": game["token"]}

    def first_moves(self, game: Any, most: int = 1000) -> Any:
        """Take the first legal move until there is none, or so many times."""
        for _ in range(most):
            if not game["legal_moves"]:
                break
            game = self.play(game, game["legal_moves"][0])
        return game


def as_move(move: Any) -> Any:
    """Return a move as the API takes it."""
    if isinstance(move, str):
        return {"type": move}
    if isinstance(move, dict):
        return {"type": move["type"], "cells": move["cells"]}
    return {"type": "remove", "cells": [{"row": row, "column": column} for row, column in move]}


def refused(response: TestResponse, status: int, code: str) -> Any:
    """Check that a request was refused so, and return the problem."""
    assert (response.status_code, response.json["code"]) == (status, code), response.text
    assert response.json["status"] == status
    assert response.json["type"].endswith(f"/docs/problems/{code}")
    return response.json
