"""Positions that belong to no game: what is legal in them, and what it leads to."""

from typing import Any

from service.api.blueprint import Blueprint
from service.api.thinking import thinking
from service.schemas import TableIn, TableOut, read_table, table_document

blueprint = Blueprint("Positions", __name__, url_prefix="/v1/positions", description="Try a position of your own.")


@blueprint.route("", methods=["POST"])
@blueprint.operation(
    200, TableOut, "unknown_variant", "impossible_rules", "bad_position", "busy", body=TableIn(), limited="hints"
)
def consider_position(arguments: dict[str, Any]) -> dict[str, Any]:
    """List the legal moves of a position, and what each leads to.

    The position belongs to no game and is kept nowhere. Of the stock only its size is known, so the cards that a move
    would deal are `hidden`.
    """
    with thinking():
        return table_document(read_table(arguments))
