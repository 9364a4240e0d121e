"""Health: whether the process lives, and whether it can answer."""

from typing import Any

from flask import current_app
from sqlalchemy.exc import SQLAlchemyError

from service.api.blueprint import Blueprint
from service.api.problems import Problem
from service.api.world import world
from service.engine.search import solver_kind
from service.migrate import pending
from service.schemas import HealthOut, ReadyOut

blueprint = Blueprint("Health", __name__, description="For those who run the service.")


@blueprint.route("/healthz")
@blueprint.operation(200, HealthOut, limited=None)
def get_health() -> dict[str, Any]:
    """Say that the process lives."""
    return {"status": "ok"}


@blueprint.route("/readyz")
@blueprint.operation(200, ReadyOut, "not_ready", limited=None)
def get_readiness() -> dict[str, Any]:
    """Say whether the service can answer: the database is there, and its schema is this release's."""
    try:
        with world().store.reading() as connection:
            behind = pending(connection)
    except SQLAlchemyError:
        current_app.logger.exception("the database does not answer")
        raise Problem("not_ready", "the database does not answer") from None
    if behind:
        raise Problem("not_ready", "the schema of the database is not this release's: run montecarlo migrate")
    return {"status": "ok", "checks": {"database": "ok", "migrations": "current", "solver": solver_kind()}}
