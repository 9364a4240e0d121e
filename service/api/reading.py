"""Reading requests: JSON bodies, queries and tokens, with a problem for everything that cannot be read."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from flask import Request, request
from marshmallow import RAISE, Schema, ValidationError
from webargs.flaskparser import FlaskParser

from service.api.problems import Problem, faults

DEEPEST = 50
LONGEST_NUMBER = 400


class Parser(FlaskParser):
    """Loads bodies and queries as strictly as the published spec says."""

    DEFAULT_UNKNOWN_BY_LOCATION: dict[str, str | None] = {"json": RAISE, "query": RAISE}  # noqa: RUF012 - as in the base

    def load_json(self, req: Request, schema: Schema) -> Any:
        """Read the body."""
        return read_json(req)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """Read the query."""
        check_query_once(req)
        return super().load_querystring(req, schema)

    def handle_error(
        self, error: ValidationError, req: Request, schema: Schema, *, error_status_code: Any, error_headers: Any
    ) -> NoReturn:
        """Tell what does not fit."""
        location, messages = next(iter(cast(dict[str, Any], error.messages).items()))
        raise invalid(messages, query=location == "query")


def invalid(messages: Any, *, query: bool = False) -> Problem:
    """Return the problem of a body or query that does not fit, from what marshmallow says."""
    found = [{**fault, "field": fault["field"].removeprefix("/")} if query else fault for fault in faults(messages)]
    first = found[0]
    detail = f"{first['field'] or 'body'}: {first['message']}"
    return Problem("invalid_query" if query else "invalid_body", detail, errors=found)


def read_json(req: Request) -> Any:
    """Read the body of a request as JSON."""
    if req.mimetype != "application/json":
        raise Problem("wrong_content_type", "the body must come as Content-Type: application/json")
    body = req.get_data(cache=False)
    if not body:
        raise Problem("empty_body", "the request has no body")
    return parse_json(body)


def parse_json(body: bytes) -> Any:
    """Read one JSON value: UTF-8, keys once, no NaN, of modest depth and modest numbers. Raises `Problem`."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("bad_json", f"the body is not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(
            text, object_pairs_hook=_once, parse_int=_int, parse_float=_float, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise Problem("bad_json", f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise Problem("bad_json", f"the body is more than {DEEPEST} levels deep") from None
    _check_depth(value)
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Problem("bad_json", f"the key {twice[:40]!r} stands twice in one object")
    return found


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise Problem("bad_json", f"a number has more than {LONGEST_NUMBER} characters")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
    if value in (float("inf"), float("-inf")):
        raise Problem("bad_json", "a number is too large")
    return value


def _no_constant(text: str) -> NoReturn:
    raise Problem("bad_json", f"{text} is not JSON")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise Problem("bad_json", f"the body is more than {DEEPEST} levels deep")


def check_query_once(req: Request) -> None:
    """Refuse a query that gives a parameter twice."""
    for name, values in req.args.lists():
        if len(values) > 1:
            raise invalid({name: ["Given twice."]}, query=True)


def refuse_query() -> None:
    """Refuse any query."""
    if request.args:
        raise invalid({name: ["Unknown parameter."] for name in request.args}, query=True)


def bearer() -> str | None:
    """Return the token of the request, or None if it has none."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    found = re.fullmatch(r"(?i:bearer) +(\S+)", header)
    # Anything else was meant as a token and is not one; it is refused where a token is asked for.
    return found.group(1) if found else ""
