"""Reading requests: JSON bodies, queries and tokens, with a problem for everything that cannot be read."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from flask import request
from marshmallow import Schema, ValidationError

from service.api.problems import Problem, faults

DEEPEST = 50
LONGEST_NUMBER = 400


def load_body(schema: Schema) -> Any:
    """Return the body of the request as a schema loads it. Raises `Problem`."""
    if request.mimetype != "application/json":
        raise Problem("wrong_content_type", "the body must come as Content-Type: application/json")
    body = request.get_data(cache=False)
    if not body:
        raise Problem("empty_body", "the request has no body")
    try:
        return schema.load(parse_json(body))
    except ValidationError as error:
        found = faults(error.normalized_messages())  # type: ignore[no-untyped-call]
        raise Problem("invalid_body", _first(found, "body"), errors=found) from None


def load_query(schema: Schema) -> Any:
    """Return the query of the request as a schema loads it. Raises `Problem`."""
    try:
        for name, values in request.args.lists():
            if len(values) > 1:
                raise ValidationError("Given twice.", name)
        return schema.load(request.args.to_dict())
    except ValidationError as error:
        raise _unfit_query(error.normalized_messages()) from None  # type: ignore[no-untyped-call]


def refuse_query() -> None:
    """Refuse any query where none is read. Raises `Problem`."""
    raise _unfit_query({name: ["Unknown parameter."] for name in request.args})


def _unfit_query(messages: Mapping[str, Any]) -> Problem:
    found = [fault | {"field": fault["field"].removeprefix("/")} for fault in faults(messages)]
    return Problem("invalid_query", _first(found, "query"), errors=found)


def _first(found: Sequence[dict[str, str]], otherwise: str) -> str:
    return f"{found[0]['field'] or otherwise}: {found[0]['message']}" if found else f"the {otherwise} does not fit"


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


def bearer() -> str | None:
    """Return the token of the request, or None if it has none."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    found = re.fullmatch(r"(?i:bearer) +(\S+)", header)
    # Anything else was meant as a token and is not one; it is refused where a token is asked for.
    return found.group(1) if found else ""
