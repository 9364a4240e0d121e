"""Problems: every error is an RFC 9457 document with a stable code, and this table says what each code means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import Any

from flask import Flask, Response, current_app, json, url_for
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from service.commands import Stale
from service.database import Unavailable
from service.engine.errors import EngineError
from service.metrics import UNAVAILABLE
from service.schemas import MOST_FAULTS, MOST_TEXT

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Kind:
    """What a code means: HTTP status, title, and what a client can do about it."""

    status: int
    title: str
    help: str


KINDS: Mapping[str, Kind] = {
    # The request cannot be read.
    "empty_body": Kind(400, "No body", "Send a JSON object as the body of the request."),
    "bad_json": Kind(
        400,
        "Body is not JSON",
        "The body must be one JSON value in UTF-8, with no key twice in an object, no NaN or Infinity, numbers of at "
        "most 400 characters and not more than 50 levels deep.",
    ),
    "bad_request": Kind(400, "Request cannot be read", "The request is not well-formed HTTP."),
    "bad_header": Kind(400, "Header cannot be read", "The detail names the header and says what it takes."),
    "length_required": Kind(411, "Length required", "Send the body with a Content-Length, not in chunks."),
    "body_too_large": Kind(413, "Body too large", "Send less: fewer moves in a batch, for example."),
    "uri_too_long": Kind(414, "URI too long", "Path and query have at most 4096 characters."),
    "headers_too_large": Kind(431, "Headers too large", "All headers together have at most 16384 bytes."),
    "wrong_content_type": Kind(415, "Wrong content type", "Send the body as Content-Type: application/json."),
    # Who asks.
    "token_required": Kind(
        401, "Token required", "Send the token that came with the game, as Authorization: Bearer TOKEN."
    ),
    "bad_token": Kind(
        401,
        "Token not known",
        "The token is mistyped or of another server. It came with the answer that dealt the game.",
    ),
    "not_yours": Kind(403, "Not your game", "The token is good, but for another game."),
    "not_revealed": Kind(
        403,
        "Deal not revealed",
        "What is asked for would tell hidden cards. A secret deal is revealed when its game is over.",
    ),
    # What is asked for.
    "not_found": Kind(
        404,
        "Not found",
        "Nothing is at this path. Ids are UUIDs, versions whole numbers from 1; /openapi.json lists all paths.",
    ),
    "game_not_found": Kind(
        404, "No such game", "No game has this id, or it is private and the request has not its token."
    ),
    "deal_not_found": Kind(404, "No such deal", "No deal has this id."),
    "variant_not_found": Kind(404, "No such variant", "GET /v1/variants lists all variants and their aliases."),
    "version_not_found": Kind(404, "No such version", "The game has not come to this version yet."),
    "method_not_allowed": Kind(405, "Method not allowed", "The Allow header lists the methods of this path."),
    "stale": Kind(
        412,
        "The game is another than If-Match says",
        "It has gone on, or the tag is weak (`W/`) and so never matches; `version` and the ETag of this answer are those "
        "it has now.",
    ),
    # What the request says.
    "invalid_body": Kind(422, "Body does not fit", "Each entry of `errors` names a field and what is wrong with it."),
    "invalid_query": Kind(
        422,
        "Query does not fit",
        "Each entry of `errors` names a parameter and what is wrong with it; unknown ones are refused.",
    ),
    "unknown_variant": Kind(422, "Unknown variant", "GET /v1/variants lists all variants and their aliases."),
    "impossible_rules": Kind(422, "Impossible rules", "No game can be played by these rules; the detail says why."),
    "bad_card": Kind(422, "Not a card", "A card is a rank of A23456789TJQK, then a suit of CDHS."),
    "bad_deck": Kind(422, "Not the pack", "A deck holds every card of the pack, each as often as the pack does."),
    "bad_number": Kind(
        422, "Not a deal number", "A number is a decimal string: 0 to 2^64-1 for numbered, 1 to 10^20-1 for pysol."
    ),
    "bad_deal": Kind(422, "Deal does not fit", "Each kind of deal takes its own fields: number, cards or client_seed."),
    "unreadable_log": Kind(
        422, "Log cannot be read", "The detail says where. The form of logs is at /openapi.json and in the docs."
    ),
    "unknown_format": Kind(422, "Unknown format of log", "The log is of a newer format than this release knows."),
    "key_reused": Kind(
        422,
        "Key used before",
        "This Idempotency-Key came with another request before. Make a new key for each request.",
    ),
    "too_much_metadata": Kind(422, "Too much metadata", "A game keeps at most 16 strings; take some away with null."),
    "outside_grid": Kind(422, "Outside the grid", "The grid of this game has fewer rows or columns."),
    "bad_position": Kind(422, "Not a position", "The grid fits the rules, and grid and stock hold no card too many."),
    "bad_cell": Kind(422, "Not a cell", "A cell is a column letter a to j, then a row 1 to 10."),
    "unreadable_move": Kind(422, "Not a move", "remove names one or two cells, and no other move names any."),
    # The game or the deal as it is now.
    "deal_used": Kind(409, "Deal already used", "A secret deal serves one game. Make another deal."),
    "pack_mismatch": Kind(409, "Deal of another pack", "The rules play with other cards than this deal was made of."),
    "not_a_pair": Kind(409, "Not a pair", "The two cards do not match by the rules of this game."),
    "not_single": Kind(409, "Not removed alone", "Only the ranks in rules.single are removed alone; name two cells."),
    "not_touching": Kind(
        409,
        "Cards do not touch",
        "A pair must touch: side by side, above each other, or at a corner. Rows do not wrap, and gaps are not jumped.",
    ),
    "not_in_line": Kind(409, "Cards not in line", "A pair must share a row or a column."),
    "empty_cell": Kind(409, "Empty cell", "No card lies on the cell. Perhaps the removal was made already."),
    "same_cell": Kind(409, "Same cell twice", "A pair is two different cells."),
    "nothing_to_close_up": Kind(409, "Nothing to close up", "Closing up would change nothing."),
    "removals_remain": Kind(
        409, "Removals remain", "By the rules of this game the grid closes up only when no removal is left."
    ),
    "refill_due": Kind(409, "Refill comes next", "After compact, refill is the only way on."),
    "nothing_to_refill": Kind(409, "Nothing to refill", "refill comes after compact; close_up does both."),
    "nothing_to_undo": Kind(409, "Nothing to undo", "No move is left to take back."),
    "nothing_to_redo": Kind(409, "Nothing to redo", "Nothing was undone since the last new move."),
    "blocked": Kind(
        409,
        "Blocked",
        "No removal is left and a close-up would change nothing; undo or resign. The detail says how far back a choice is.",
    ),
    "game_over": Kind(409, "Game over", "The game is won or lost; no move is left in it."),
    "log_full": Kind(409, "Log full", "A game has at most 10000 events; resign, and deal another."),
    "must_be_last": Kind(
        409,
        "Must be last of its batch",
        "While the deal is not revealed, a move that deals hidden cards ends a batch. Send the others in another request.",
    ),
    # The server.
    "too_many_requests": Kind(
        429,
        "Too many requests",
        "The RateLimit headers of the API's answers say how many requests are left and in how many seconds the count begins "
        "anew; wait for Retry-After seconds.",
    ),
    "too_many_watchers": Kind(
        503, "Too many watchers", "No stream of events is free here now; come again, or ask for events with `after`."
    ),
    "internal_error": Kind(500, "Internal error", "A fault of the server, which is in its log. Nothing was changed."),
    "busy": Kind(
        503, "Busy", "Too many hints and analyses are asked for at once. Try again after Retry-After seconds."
    ),
    "database_unavailable": Kind(
        503,
        "Database unavailable",
        "The database does not answer, is too busy, or has no room left; the detail says which. Try again after "
        "Retry-After seconds. What was to change has changed wholly or not at all: look before you send it again.",
    ),
    "not_ready": Kind(
        503, "Not ready", "The database does not answer, or its schema is behind this release's; the detail says which."
    ),
}

# The code for what Flask, Werkzeug and the database refuse by themselves.
_BY_STATUS = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "wrong_content_type",
}


class Problem(Exception):
    """An error to answer with, found while reading a request."""

    def __init__(self, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.more = code, detail, more


def problem_response(code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return the answer that tells a problem."""
    kind = KINDS[code]
    document = {
        "type": url_for("docs.problem", code=code),
        "title": kind.title,
        "status": kind.status,
        "detail": detail[:MOST_TEXT],
        "code": code,
        **more,
    }
    response = Response(json.dumps(document), kind.status, headers, content_type=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    if kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "1"
    if kind.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def answer_engine(error: EngineError) -> Response:
    """Answer what the engine or a command refused."""
    more: dict[str, Any] = {} if error.move is None else {"move": error.move}
    return problem_response(error.code, error.message, **more)


def answer_stale(stale: Stale) -> Response:
    """Answer a request about a game that has gone on."""
    record = stale.record
    headers = {"ETag": f'"{record.tag}"'}
    return problem_response(stale.code, stale.message, headers=headers, version=record.game.version, head=record.head)


def answer_problem(problem: Problem) -> Response:
    """Answer a request that cannot be read."""
    return problem_response(problem.code, problem.detail, **problem.more)


def answer_http(error: HTTPException) -> Any:
    """Answer what Flask refused, redirects left as they are."""
    status = error.code or 500
    if status < 400:
        return error.get_response()
    headers = {"Allow": ", ".join(sorted(error.valid_methods or ()))} if isinstance(error, MethodNotAllowed) else None
    code = _BY_STATUS.get(status, "bad_request" if status < 500 else "internal_error")
    return problem_response(code, KINDS[code].help, headers=headers)


def answer_unavailable(error: Unavailable) -> Response:
    """Answer that the database cannot be used now, and leave the reason in the log."""
    UNAVAILABLE.labels(error.code).inc()
    current_app.logger.warning("%s: %s", error, error.reason)
    return problem_response("database_unavailable", str(error))


def answer_unexpected(error: Exception) -> Response:
    """Answer a fault of ours, and leave its story in the log."""
    current_app.logger.error("unexpected error", exc_info=error)
    return problem_response("internal_error", KINDS["internal_error"].help)


def faults(messages: Any, pointer: str = "") -> Sequence[dict[str, str]]:
    """Flatten the messages of marshmallow into one fault a field, the first hundred of them."""
    return list(islice(_faults(messages, pointer), MOST_FAULTS))


def _faults(messages: Any, pointer: str) -> Iterator[dict[str, str]]:
    if isinstance(messages, Mapping):
        for key, value in messages.items():
            yield from _faults(value, _join(pointer, key))
    else:
        yield from ({"field": pointer[:MOST_TEXT], "message": str(message)[:MOST_TEXT]} for message in messages)


def _join(pointer: str, key: Any) -> str:
    return pointer if key == "_schema" else f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def init_app(app: Flask) -> None:
    """Answer every error of an app with a problem."""
    app.register_error_handler(EngineError, answer_engine)
    app.register_error_handler(Stale, answer_stale)
    app.register_error_handler(Problem, answer_problem)
    app.register_error_handler(Unavailable, answer_unavailable)
    app.register_error_handler(HTTPException, answer_http)
    app.register_error_handler(Exception, answer_unexpected)
