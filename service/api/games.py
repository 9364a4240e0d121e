"""Games: dealing, moving, and looking at what happened."""

from typing import Any
from uuid import UUID

import orjson
from flask import Response, request, url_for

from service import commands
from service.api.blueprint import Blueprint
from service.api.deals import _BAD_DEAL
from service.api.reading import bearer, unfit_query
from service.api.thinking import thinking
from service.api.world import world
from service.engine.audit import audit
from service.engine.notation import format_log
from service.schemas import (
    AnalysisOut,
    AuditOut,
    EventsOut,
    EventsQuery,
    GameIn,
    GameOut,
    HintIn,
    HintOut,
    LogOut,
    LogQuery,
    MovesIn,
    MovesOut,
    NewGameOut,
    PositionOut,
    analysis_document,
    game_document,
    hint_document,
    moves_document,
    position_document,
    read_deal_spec,
    read_rules,
    verdict_document,
)

blueprint = Blueprint("Games", __name__, url_prefix="/v1/games", description="Deal, move, look back.")
_NO_GAME = ("not_found", "game_not_found")
_ILLEGAL = (
    "not_a_pair", "not_single", "not_touching", "not_in_line", "empty_cell", "same_cell", "nothing_to_close_up",
    "removals_remain", "refill_due", "nothing_to_refill", "nothing_to_undo", "nothing_to_redo", "game_over",
    "must_be_last", "outside_grid", "unreadable_move",
)  # fmt: skip
_TOKEN = ("token_required", "bad_token", "not_yours")
_FOR_EVER = "max-age=31536000, immutable"


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
    body=GameIn(),
)
def create_game(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Deal a game.

    An empty object deals a new game of Monte Carlo. The answer holds the token that moves the game.
    """
    variant, rules = read_rules(arguments)
    spec = read_deal_spec(arguments.get("deal") or {})
    record, token, receipt = commands.create_game(world(), variant, rules, spec, arguments["visibility"])
    return {**game_document(record), "token": token, "receipt": receipt}, {
        "Location": url_for("Games.get_game", game_id=record.id)
    }


@blueprint.route("/<uuid:game_id>")
@blueprint.operation(200, GameOut, *_NO_GAME, token="optional")
def get_game(game_id: UUID) -> dict[str, Any]:
    """Get a game.

    Anyone may look at a public game; a private one needs its token and is not found without.
    """
    return game_document(commands.read_game(world(), game_id, bearer()))


@blueprint.route("/<uuid:game_id>/moves", methods=["POST"])
@blueprint.operation(201, MovesOut, *_NO_GAME, *_ILLEGAL, *_TOKEN, token="required", body=MovesIn())
def make_moves(arguments: dict[str, Any], game_id: UUID) -> dict[str, Any]:
    """Make moves, all or none.

    The moves are made one after another and acknowledged when they are durable. If one is refused, none is made, and
    `move` in the problem is its place in the batch.
    """
    return moves_document(*commands.make_moves(world(), game_id, bearer(), arguments["moves"]))


@blueprint.route("/<uuid:game_id>/events")
@blueprint.operation(200, EventsOut, *_NO_GAME, token="optional", query=EventsQuery())
def list_events(arguments: dict[str, Any], game_id: UUID) -> dict[str, Any]:
    """List the events of a game, first to last."""
    after, limit = arguments["after"], arguments["limit"]
    entries, more = commands.read_entries(world(), game_id, bearer(), after, limit)
    here = url_for("Games.list_events", game_id=game_id, after=entries[-1].version, limit=limit) if more else None
    return {"items": [entry.document for entry in entries], "next": here}


@blueprint.route("/<uuid:game_id>/positions/<version:version>")
@blueprint.operation(200, PositionOut, *_NO_GAME, "version_not_found", token="optional")
def get_position(game_id: UUID, version: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Get the position of a game at a version.

    It never changes, so it may be kept for ever.
    """
    record, game = commands.read_position(world(), game_id, bearer(), version)
    return position_document(game), {"Cache-Control": f"{record.visibility}, {_FOR_EVER}"}


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
@blueprint.operation(200, AuditOut, *_NO_GAME, "busy", token="optional")
def audit_game(game_id: UUID) -> dict[str, Any]:
    """Audit a game from its stored log: every event derived again by the rules."""
    log = commands.read_log(world(), game_id, bearer())
    with thinking():
        return verdict_document(audit(log, world().keys))


@blueprint.route("/<uuid:game_id>/hints", methods=["POST"])
@blueprint.operation(
    201,
    HintOut,
    *_NO_GAME,
    *_TOKEN,
    "game_over",
    "blocked",
    "not_revealed",
    "busy",
    token="required",
    body=HintIn(),
)
def give_hint(arguments: dict[str, Any], game_id: UUID) -> dict[str, Any]:
    """Give a hint.

    A hint is an event of the log and counts as assistance. The same position always gets the same hint, and none but
    `solve`, which wants a revealed deal, depends on a hidden card.
    """
    with thinking():
        given = commands.give_hint(world(), game_id, bearer(), arguments["level"], arguments["samples"])
    return hint_document(*given)


@blueprint.route("/<uuid:game_id>/analysis")
@blueprint.operation(200, AnalysisOut, *_NO_GAME, "not_revealed", "busy", token="optional")
def get_analysis(game_id: UUID) -> tuple[dict[str, Any], dict[str, str]]:
    """Analyse a game whose deal is revealed.

    For each version whether it could still be won, the move that threw it away with a line that would have won, and a
    solution of the whole deal.
    """
    with thinking():
        analysis, record = commands.read_analysis(world(), game_id, bearer())
    kept = f"{record.visibility}, {_FOR_EVER}" if record.game.over else "no-store"
    return analysis_document(analysis), {"Cache-Control": kept}
