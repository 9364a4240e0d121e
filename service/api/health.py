"""Health: whether the process lives, and whether it can answer."""

from typing import Any

from flask import current_app

from service.api.blueprint import Blueprint
from service.api.problems import Problem
from service.api.world import world
from service.database import Unavailable
from service.engine.search import solver_kind
from service.migrate import WRONG, schema_state
from service.schemas import HealthOut, ReadyOut

blueprint = Blueprint("Health", __name__, description="For those who run the service.")


@blueprint.route("/healthz")
@blueprint.operation(200, HealthOut, limited=None)
def get_health() -> dict[str, Any]:
    """Say that the process lives.

    Nothing else is looked at; `/readyz` looks at what requests need.
    """
    return {"status": "ok"}


@blueprint.route("/readyz")
@blueprint.operation(200, ReadyOut, "not_ready", limited=None)
def get_readiness() -> dict[str, Any]:
    """Say whether the service can answer.

    It can when the database is there and its schema is not behind this release's. A schema that is ahead is no fault:
    the release after this one is being started.
    """
    try:
        with world().database.reading() as connection:
            state = schema_state(connection)
    except Unavailable as unavailable:
        current_app.logger.warning("%s: %s", unavailable, unavailable.reason)
        raise Problem("not_ready", str(unavailable)) from None
    if state in ("older", "strange"):
        raise Problem("not_ready", WRONG[state])
    return {"status": "ok", "checks": {"database": "ok", "migrations": state, "solver": solver_kind()}}
