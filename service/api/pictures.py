"""Pictures of games: for forums, chats and terminals. They show what anyone may see of a game, and no hidden card."""

from typing import Any
from uuid import UUID

from flask import Response

from service import commands
from service.api.blueprint import Blueprint
from service.api.games import FOR_EVER
from service.api.reading import bearer
from service.api.terms import etag, is_known
from service.api.world import world
from service.engine.pictures import board_svg, board_text, replay_svg
from service.engine.rules import VARIANTS
from service.schemas import PictureQuery
from service.store import GameRecord

blueprint = Blueprint("Pictures", __name__, url_prefix="/v1/games", description="Boards and replays to look at.")
_SVG = "image/svg+xml"
_REFUSED = ("not_found", "game_not_found", "version_not_found")


@blueprint.route("/<uuid:game_id>/board.svg")
@blueprint.operation(200, None, *_REFUSED, token="optional", tag=True, query=PictureQuery(), media=(_SVG,))
def get_board_svg(arguments: dict[str, Any], game_id: UUID) -> Response:
    """Draw the board of a game.

    With `version` the picture never changes and may be kept for ever. It has a title and a description for those who
    do not see it.
    """
    record, game, line = commands.read_line(world(), game_id, bearer(), arguments["version"])
    return _answer(board_svg(_name(record), line[-1], game.status, game.version), _SVG, record, arguments)


@blueprint.route("/<uuid:game_id>/replay.svg")
@blueprint.operation(200, None, *_REFUSED, token="optional", tag=True, query=PictureQuery(), media=(_SVG,))
def get_replay_svg(arguments: dict[str, Any], game_id: UUID) -> Response:
    """Draw a game as a moving picture, move by move.

    What was undone is left out. Who asked their system for less motion sees the last board.
    """
    record, game, line = commands.read_line(world(), game_id, bearer(), arguments["version"])
    return _answer(replay_svg(_name(record), line, game.status, game.version), _SVG, record, arguments)


@blueprint.route("/<uuid:game_id>/board.txt")
@blueprint.operation(200, None, *_REFUSED, token="optional", tag=True, query=PictureQuery(), media=("text/plain",))
def get_board_text(arguments: dict[str, Any], game_id: UUID) -> Response:
    """Write the board of a game for a terminal.

    Rows from the top, two characters a card.
    """
    record, game, line = commands.read_line(world(), game_id, bearer(), arguments["version"])
    return _answer(board_text(_name(record), line[-1], game.status, game.version), "text/plain", record, arguments)


def _name(record: GameRecord) -> str:
    return VARIANTS[record.variant].name


def _answer(text: str, media: str, record: GameRecord, arguments: dict[str, Any]) -> Response:
    version = arguments["version"]
    cache = "no-cache" if version is None else f"{record.visibility}, {FOR_EVER}"
    tag = record.tag if version is None else f"{record.id}-{version}"
    # Opened by itself a picture is a document of this origin: it may style itself and nothing else.
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    response = Response(status=304, mimetype=media) if is_known(tag) else Response(text, mimetype=media)
    response.headers.update({"Cache-Control": cache, "Content-Security-Policy": policy, **etag(tag)})
    return response
