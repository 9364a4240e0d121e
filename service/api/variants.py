"""Variants: the published rules."""

from typing import Any

from service.api.blueprint import Blueprint
from service.api.problems import Problem
from service.engine.errors import Unreadable
from service.engine.rules import VARIANTS, find_variant
from service.schemas import VariantOut, VariantsOut, variant_document

blueprint = Blueprint("Variants", __name__, url_prefix="/v1/variants", description="The published rules.")
_CACHE = "public, max-age=3600"


@blueprint.route("")
@blueprint.operation(200, VariantsOut, cache=_CACHE)
def list_variants() -> dict[str, Any]:
    """List all variants.

    Their rules are data, with how often players of several kinds win by them.
    """
    return {"items": [variant_document(variant) for variant in VARIANTS.values()], "next": None}


@blueprint.route("/<string(maxlength=64):variant_id>")
@blueprint.operation(200, VariantOut, "not_found", "variant_not_found", cache=_CACHE)
def get_variant(variant_id: str) -> dict[str, Any]:
    """Get a variant by its id or an alias.

    The answer names it by its id.
    """
    try:
        return variant_document(find_variant(variant_id))
    except Unreadable as error:
        raise Problem("variant_not_found", error.message) from None
