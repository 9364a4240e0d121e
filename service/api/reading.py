"""Reading requests: JSON bodies, queries and tokens, with a problem for everything that cannot be read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask import current_app, g, request
from marshmallow import Schema, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_list_header

from service.api.problems import Problem, faults
from service.strict_json import parse_json, parse_log_file


def load_body(schema: Schema, *types: str) -> Any:
    """Return the body of the request, JSON of any of these types too, as a schema loads it.

    Raises `Problem` or `Unreadable`.
    """
    _want("application/json", *types)
    try:
        return schema.load(parse_json(_body()))
    except ValidationError as error:
        found = faults(error.normalized_messages())  # type: ignore[no-untyped-call]
        raise Problem("invalid_body", _first(found, "body"), errors=found) from None


def load_log() -> Any:
    """Return the log in the body of the request, sent as JSON or as notation. Raises `Problem` or `Unreadable`."""
    request.max_content_length = current_app.config["AUDIT_BODY_LIMIT"]
    _want("application/json", "text/plain")
    return parse_log_file(_body(), plain=request.mimetype == "text/plain")


def _want(*types: str) -> None:
    environ = request.environ
    if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise Problem("wrong_content_type", "the body must come as it is, without Content-Encoding")
    if environ.get("CONTENT_TYPE") not in types and request.mimetype not in types:
        raise Problem("wrong_content_type", f"the body must come as Content-Type: {' or '.join(types)}")


def _body() -> bytes:
    environ = request.environ
    if "HTTP_TRANSFER_ENCODING" in environ:
        # Of a body without a length nobody can say whether all of it came.
        raise Problem("length_required", "the request has no Content-Length")
    length, most = request.content_length, request.max_content_length or 0
    if length is not None and length > most:
        raise RequestEntityTooLarge
    # In HTTP/2 a body may come without a length: its end is told.
    body: bytes = environ["wsgi.input"].read(most + 1 if length is None else length)
    if len(body) > most:
        raise RequestEntityTooLarge
    if len(body) < (length or 0):
        raise Problem("bad_request", f"{len(body)} of {length} bytes of the body came")
    if not body:
        raise Problem("empty_body", "the request has no body")
    g.body = body
    return body


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


def unfit_query(name: str, message: str) -> Problem:
    """Return the problem of one parameter that does not fit."""
    return _unfit_query({name: [message]})


def _unfit_query(messages: Mapping[str, Any]) -> Problem:
    found = [fault | {"field": fault["field"].removeprefix("/")} for fault in faults(messages)]
    return Problem("invalid_query", _first(found, "query"), errors=found)


def _first(found: Sequence[dict[str, str]], otherwise: str) -> str:
    return f"{found[0]['field'] or otherwise}: {found[0]['message']}" if found else f"the {otherwise} does not fit"


def last_event_id(otherwise: int) -> int:
    """Return the version after which a stream goes on. Raises `Problem`."""
    header = request.headers.get("Last-Event-ID")
    if header is None:
        return otherwise
    if not re.fullmatch(r"0|[1-9]\d{0,8}", header, re.ASCII):
        raise Problem("bad_header", "Last-Event-ID: it must be the id of an event of the stream, a version")
    return int(header)


def prefers_minimal() -> bool:
    """Say whether the client prefers a short answer (RFC 7240)."""
    header = request.environ.get("HTTP_PREFER")
    for part in parse_list_header(header) if header else ():
        name, _, value = part.partition(";")[0].partition("=")
        if name.strip().lower() == "return":
            return value.strip(' "').lower() == "minimal"  # the first one counts
    return False


def bearer() -> str | None:
    """Return the token of the request, or None if it has none."""
    header = request.environ.get("HTTP_AUTHORIZATION")
    if header is None:
        return None
    found = re.fullmatch(r"(?i:bearer) +(\S+)", header)
    # Anything else was meant as a token and is not one; it is refused where a token is asked for.
    return found.group(1) if found else ""
