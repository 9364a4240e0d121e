"""Deals: orders of the pack, and what binds the server to them."""

from typing import Any
from uuid import UUID

from flask import url_for

from service import commands
from service.api.blueprint import Answer, Blueprint
from service.api.terms import terms
from service.api.thinking import thinking
from service.api.world import world
from service.engine.rules import find_variant
from service.schemas import (
    DealOut,
    NewDealIn,
    SolutionQuery,
    SolvedOut,
    deal_document,
    read_deal_spec,
    solution_document,
)
from service.store import DealRecord

blueprint = Blueprint("Deals", __name__, url_prefix="/v1/deals", description="Orders of the pack, fair and repeatable.")
_BAD_DEAL = ("unknown_variant", "bad_deal", "bad_card", "bad_deck", "bad_number")


@blueprint.route("", methods=["POST"])
@blueprint.operation(
    201, DealOut, *_BAD_DEAL, location=True, asks=["Idempotency-Key"], body=NewDealIn(), limited="games"
)
def create_deal(arguments: dict[str, Any]) -> Answer:
    """Make a deal.

    Make a secret deal first and the game after, with a `client_seed` of your own, and neither side can know the
    order beforehand: the commitment binds the server before it knows your part.
    """
    pack = find_variant(arguments["variant"]).rules.pack

    def answer(deal: DealRecord, revealed: bool) -> Answer:
        return deal_document(deal, revealed), {"Location": url_for("Deals.get_deal", deal_id=deal.id)}

    return commands.create_deal(world(), pack, read_deal_spec(arguments), answer, terms())


@blueprint.route("/<uuid:deal_id>")
@blueprint.operation(200, DealOut, "not_found", "deal_not_found")
def get_deal(deal_id: UUID) -> dict[str, Any]:
    """Get a deal.

    The order and the seed of a secret deal are shown once its game is over.
    """
    return deal_document(*commands.read_deal(world(), deal_id))


@blueprint.route("/<uuid:deal_id>/solution")
@blueprint.operation(
    200,
    SolvedOut,
    "not_found",
    "deal_not_found",
    "not_revealed",
    "pack_mismatch",
    "unknown_variant",
    "busy",
    query=SolutionQuery(),
    limited="hints",
    cache="public, max-age=31536000, immutable",
)
def get_solution(arguments: dict[str, Any], deal_id: UUID) -> dict[str, Any]:
    """Solve a revealed deal by the rules of a variant.

    Whether it can be won by one who sees all cards, and how. A hard deal may stay undecided.
    """
    with thinking():
        solution = commands.solve_deal(world(), deal_id, find_variant(arguments["variant"]).rules)
    return solution_document(solution)
