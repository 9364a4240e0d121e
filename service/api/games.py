"""Games: dealing, moving, and looking at what happened."""

from __future__ import annotations  # those of inner functions would else be worked out at each call

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import orjson
from flask import Response, current_app, request, url_for

from service import commands
from service.api.blueprint import Answer, Blueprint
from service.api.deals import _BAD_DEAL
from service.api.limits import limit
from service.api.observing import counting
from service.api.problems import Problem
from service.api.reading import bearer, last_event_id, load_body, prefers_minimal, unfit_query
from service.api.terms import conditions, etag, terms
from service.api.thinking import thinking
from service.api.world import world
from service.engine.audit import audit
from service.engine.hints import Hint
from service.engine.log import Entry
from service.engine.notation import format_log
from service.engine.rules import find_variant
from service.metrics import AUDITS, HINTS
from service.schemas import (
    AnalysisOut,
    AuditOut,
    EventsOut,
    EventsQuery,
    ExportQuery,
    GameChangesIn,
    GameIn,
    GameOut,
    GamesOut,
    GamesQuery,
    HintIn,
    HintOut,
    LogOut,
    LogQuery,
    MovesIn,
    MovesOut,
    MovesQuery,
    NewGameOut,
    OutcomeOut,
    PositionOut,
    analysis_document,
    game_document,
    game_summary,
    hint_document,
    moves_document,
    outcome_document,
    position_document,
    read_deal_spec,
    read_rules,
    trial_document,
    verdict_document,
)
from service.store import GameRecord, Wanted

blueprint = Blueprint("Games", __name__, url_prefix="/v1/games", description="Deal, move, look back.")
_NO_GAME = ("not_found", "game_not_found")
_ILLEGAL = (
    "not_a_pair", "not_single", "not_touching", "not_in_line", "empty_cell", "same_cell", "nothing_to_close_up",
    "removals_remain", "refill_due", "nothing_to_refill", "nothing_to_undo", "nothing_to_redo", "game_over", "log_full",
    "must_be_last", "outside_grid", "unreadable_move",
)  # fmt: skip
_TOKEN = ("token_required", "bad_token", "not_yours")
_LINES, _STREAM = "application/x-ndjson", "text/event-stream"
_FORMS = ("application/json", _LINES, _STREAM)
_MERGE_PATCH = "application/merge-patch+json"
FOR_EVER = "max-age=31536000, immutable"


@blueprint.route("")
@blueprint.operation(200, GamesOut, "unknown_variant", query=GamesQuery(), headers=["Link"])
def list_games(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """List public games, the last dealt first.

    Follow `next` (or the `Link` header) for more. Games dealt meanwhile come before the first page, so no game is
    missed or listed twice. There are no totals: counting costs more than it tells.
    """
    found, more = commands.list_games(world(), _wanted(arguments), arguments["limit"])
    here = _next(arguments, found[-1].id) if more else None
    return {"items": [game_summary(record) for record in found], "next": here}, _link(here)


@blueprint.route("/export")
@blueprint.operation(
    200, None, "unknown_variant", query=ExportQuery(), headers=["Link"], media=(_LINES,), limited="audits"
)
def export_games(arguments: dict[str, Any]) -> Response:
    """Export the logs of public games, one JSON document a line, the last dealt first.

    Each line is what `GET /v1/games/{game_id}/log` gives, and `POST /v1/audits` takes.
    """
    logs, after = commands.export_games(world(), _wanted(arguments), arguments["limit"])
    response = Response((orjson.dumps(log) + b"\n" for log in logs), mimetype=_LINES)
    response.headers.update({"Cache-Control": "no-store", **_link(_next(arguments, after) if after else None)})
    return response


def _wanted(arguments: dict[str, Any]) -> Wanted:
    """Return which games a query asks for. Raises `Unreadable`."""
    variant, since, until = arguments.get("variant"), arguments.get("since"), arguments.get("until")
    return Wanted(
        status=arguments.get("status"),
        variant=variant and find_variant(variant).id,
        deal=arguments.get("deal"),
        since=since and round(since.timestamp() * 1000),
        until=until and round(until.timestamp() * 1000),
        after=arguments.get("cursor"),
    )


def _next(arguments: dict[str, Any], after: UUID) -> str:
    query = {**request.args.to_dict(), "limit": arguments["limit"], "cursor": after}
    return url_for(request.endpoint or "", **query)


def _link(following: str | None) -> dict[str, str]:
    return {"Link": f'<{following}>; rel="next"'} if following else {}


@blueprint.route("", methods=["POST"])
@blueprint.operation(
    201,
    NewGameOut,
    *_BAD_DEAL,
    "impossible_rules",
    "deal_not_found",
    "deal_used",
    "pack_mismatch",
    location=True,
    tag=True,
    asks=["Idempotency-Key"],
    body=GameIn(),
    limited="games",
)
def create_game(arguments: dict[str, Any]) -> Answer:
    """Deal a game.

    An empty object deals a new game of Monte Carlo. The answer holds the token that moves the game.
    """

    def answer(record: GameRecord) -> Answer:
        mine = {"token": commands.token_of(world(), record), "receipt": commands.receipt(world(), record)}
        location = url_for("Games.get_game", game_id=record.id)
        return {**game_document(record), **mine}, {"Location": location, **etag(record.tag)}

    variant, rules = read_rules(arguments)
    spec = read_deal_spec(arguments.get("deal") or {})
    kept = {name: arguments[name] for name in ("visibility", "metadata")}
    return commands.create_game(world(), variant, rules, spec, answer, **kept, terms=terms())


@blueprint.route("/<uuid:game_id>")
@blueprint.operation(200, GameOut, *_NO_GAME, token="optional", tag=True)
def get_game(game_id: UUID) -> tuple[dict[str, Any], dict[str, str]]:
    """Get a game.

    Anyone may look at a public game; a private one needs its token and is not found without.
    """
    record = commands.read_game(world(), game_id, bearer())
    return game_document(record), etag(record.tag)


@blueprint.route("/<uuid:game_id>", methods=["PATCH"])
@blueprint.operation(
    200,
    GameOut,
    *_NO_GAME,
    *_TOKEN,
    "too_much_metadata",
    token="required",
    tag=True,
    asks=["If-Match"],
    body=GameChangesIn(),
    takes=(_MERGE_PATCH,),
    reads=lambda: load_body(GameChangesIn(), _MERGE_PATCH),
)
def change_game(arguments: dict[str, Any], game_id: UUID) -> tuple[dict[str, Any], dict[str, str]]:
    """Change who may see a game, and the strings kept on it.

    What is left out stays as it is. None of it is part of the log.
    """
    visibility, metadata = arguments.get("visibility"), arguments["metadata"]
    record = commands.change_game(
        world(), game_id, bearer(), visibility=visibility, metadata=metadata, terms=conditions()
    )
    return game_document(record), etag(record.tag)


@blueprint.route("/<uuid:game_id>/moves", methods=["POST"])
@blueprint.operation(
    201,
    MovesOut,
    *_NO_GAME,
    *_ILLEGAL,
    *_TOKEN,
    token="required",
    tag=True,
    asks=["Idempotency-Key", "If-Match", "Prefer"],
    # Said as a range: of two good statuses many generated clients know only the lower.
    also={"2XX": OutcomeOut},
    body=MovesIn(),
    query=MovesQuery(),
    limited="moves",
)
def make_moves(arguments: dict[str, Any], query: dict[str, Any], game_id: UUID) -> Answer:
    """Make moves, all or none.

    The moves are made one after another and acknowledged when they are durable. If one is refused, none is made, and
    `move` in the problem is its place in the batch. With `Prefer: return=minimal` the answer is short, with
    `validate_only=true` nothing is changed; both answer 200.
    """

    def answer(record: GameRecord, entries: list[Entry]) -> Answer:
        if prefers_minimal():
            return outcome_document(record), {**etag(record.tag), "Preference-Applied": "return=minimal"}, 200
        return moves_document(record, entries, commands.receipt(world(), record)), etag(record.tag)

    limit("moves", len(arguments["moves"]) - 1)  # the first is counted with the request
    if query["validate_only"]:
        record, game = commands.try_moves(world(), game_id, bearer(), arguments["moves"], terms())
        return trial_document(game), etag(record.tag), 200
    with counting(arguments["moves"]):
        return commands.make_moves(world(), game_id, bearer(), arguments["moves"], answer, terms())


@blueprint.route("/<uuid:game_id>/events")
@blueprint.operation(
    200,
    EventsOut,
    *_NO_GAME,
    "too_many_watchers",
    token="optional",
    query=EventsQuery(),
    asks=["Last-Event-ID"],
    headers=["Link", "Vary"],
    also={204: "The game is over and all its events are told; only a stream is answered so."},
    media=_FORMS,
)
def list_events(arguments: dict[str, Any], game_id: UUID) -> Any:
    """List or follow the events of a game.

    As JSON a page of them, first to last; as `application/x-ndjson` all of them, one a line; as `text/event-stream`
    those to come as well, as they happen: each message has the version as its `id`, and after a break the stream
    goes on behind `Last-Event-ID`. It ends with the game, and a client that comes again then gets 204. A private game
    needs its token, which a browser's EventSource cannot send: read the stream with fetch.
    """
    after, form = last_event_id(arguments["after"]), request.accept_mimetypes.best_match(_FORMS) or _FORMS[0]
    if form == _STREAM:
        return _stream(commands.follow(world(), game_id, bearer(), after, current_app.config["HEARTBEAT"]))
    limit = arguments["limit"] or (100 if form == "application/json" else None)
    entries, more = commands.read_entries(world(), game_id, bearer(), after, limit)
    here = url_for("Games.list_events", game_id=game_id, after=entries[-1].version, limit=limit) if more else None
    if form == "application/json":
        return {"items": [entry.document for entry in entries], "next": here}, {"Vary": "Accept", **_link(here)}
    lines = b"".join(orjson.dumps(entry.document) + b"\n" for entry in entries)
    return Response(lines, mimetype=_LINES, headers={"Cache-Control": "no-store", "Vary": "Accept", **_link(here)})


def _stream(following: Iterator[list[Entry]] | None) -> Response:
    """Answer with server-sent events, or 204, which tells a browser not to come again."""
    if following is None:
        return Response(status=204, headers={"Cache-Control": "no-store", "Vary": "Accept"})
    watching = world().watching
    if not watching.take_place():
        raise Problem("too_many_watchers", "as many games are watched here as there is room for")

    def messages() -> Iterator[bytes]:
        yield b"retry: 1000\n\n"
        for entries in following:
            # A line that says nothing shows that the connection still stands.
            yield b"".join(map(_message, entries)) or b":\n\n"

    # A proxy that buffers would keep events back.
    headers = {"Cache-Control": "no-store", "Vary": "Accept", "X-Accel-Buffering": "no"}
    response = Response(messages(), mimetype=_STREAM, headers=headers)
    # Not when the messages end: those of a client that has gone already never begin.
    response.call_on_close(watching.give_back_place)
    return response


def _message(entry: Entry) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (entry.version, orjson.dumps(entry.document))


@blueprint.route("/<uuid:game_id>/positions/<version:version>")
@blueprint.operation(200, PositionOut, *_NO_GAME, "version_not_found", token="optional", tag=True)
def get_position(game_id: UUID, version: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Get the position of a game at a version.

    It never changes, so it may be kept for ever.
    """
    record, game = commands.read_position(world(), game_id, bearer(), version)
    kept = {"Cache-Control": f"{record.visibility}, {FOR_EVER}"}
    return position_document(game), {**kept, **etag(f"{game_id}-{version}")}


@blueprint.route("/<uuid:game_id>/log")
@blueprint.operation(200, LogOut, *_NO_GAME, token="optional", query=LogQuery(), text=True)
def get_log(arguments: dict[str, Any], game_id: UUID) -> Response:
    """Get the log of a game, signed.

    As JSON it is all that an audit elsewhere needs. As `text/plain` it is notation: short, fit to be read and played
    with real cards; its full line holds all that the JSON does, its main line leaves out what was undone.
    """
    log = commands.read_log(world(), game_id, bearer())
    main = arguments["line"] == "main"
    accepted = request.accept_mimetypes.best_match(["text/plain"] if main else ["application/json", "text/plain"])
    plain = accepted == "text/plain"
    if main and not plain:
        raise unfit_query("line", "The main line is notation: ask for it with Accept: text/plain.")
    if plain:
        response = Response(format_log(log, main=main), mimetype="text/plain")
    else:
        response = Response(orjson.dumps(log), mimetype="application/json")
    name = f"{log['events'][0]['data']['variant']}-{str(game_id)[-12:]}.{'txt' if plain else 'json'}"
    response.headers.update(
        {"Content-Disposition": f'inline; filename="{name}"', "Vary": "Accept", "Cache-Control": "no-store"}
    )
    return response


@blueprint.route("/<uuid:game_id>/audit")
@blueprint.operation(200, AuditOut, *_NO_GAME, "busy", token="optional", limited="audits")
def audit_game(game_id: UUID) -> dict[str, Any]:
    """Audit a game from its stored log.

    Every event is derived again by the rules, and every hash, link and time is checked.
    """
    log = commands.read_log(world(), game_id, bearer())
    with thinking():
        verdict = audit(log, world().keys)
    AUDITS.labels("kept", "valid" if verdict.valid else "false").inc()
    return verdict_document(verdict)


@blueprint.route("/<uuid:game_id>/hints", methods=["POST"])
@blueprint.operation(
    201,
    HintOut,
    *_NO_GAME,
    *_TOKEN,
    "game_over",
    "blocked",
    "log_full",
    "not_revealed",
    "busy",
    token="required",
    tag=True,
    asks=["Idempotency-Key", "If-Match"],
    body=HintIn(),
    limited="hints",
)
def give_hint(arguments: dict[str, Any], game_id: UUID) -> Answer:
    """Give a hint.

    A hint is an event of the log and counts as assistance. In the same position, with the same cards shown so far,
    those undone included, it is always the same, and none but `solve`, which wants a revealed deal, depends on a card
    not shown yet.
    """

    def answer(hint: Hint, record: GameRecord) -> Answer:
        return hint_document(hint, record, commands.receipt(world(), record)), etag(record.tag)

    level, samples = arguments["level"], arguments["samples"]
    asked = terms()
    commands.raise_if_done(world(), asked)  # what was thought before takes no place from who thinks now
    with thinking():
        given = commands.give_hint(world(), game_id, bearer(), level, samples, answer, asked)
    HINTS.labels(level).inc()
    return given


@blueprint.route("/<uuid:game_id>/analysis")
@blueprint.operation(200, AnalysisOut, *_NO_GAME, "not_revealed", "busy", token="optional", limited="hints")
def get_analysis(game_id: UUID) -> tuple[dict[str, Any], dict[str, str]]:
    """Analyse a game whose deal is revealed.

    For each version whether it could still be won, the move that threw it away with a line that would have won, and a
    solution of the whole deal.
    """
    with thinking():
        analysis, record = commands.read_analysis(world(), game_id, bearer())
    kept = f"{record.visibility}, {FOR_EVER}" if record.game.over else "no-store"
    return analysis_document(analysis), {"Cache-Control": kept}
