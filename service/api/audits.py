"""Audits: a verdict on a log from anywhere."""

from typing import Any

from service.api.blueprint import Blueprint
from service.api.reading import load_log
from service.api.thinking import thinking
from service.api.world import world
from service.engine.audit import audit
from service.metrics import AUDITS
from service.schemas import AuditOut, LogIn, verdict_document

blueprint = Blueprint("Audits", __name__, url_prefix="/v1/audits", description="Prove or refute a game from its log.")
_UNREADABLE = (
    "unreadable_log", "unknown_format", "unknown_variant", "impossible_rules", "bad_card", "bad_deck", "bad_number",
    "bad_cell",
)  # fmt: skip


@blueprint.route("", methods=["POST"])
@blueprint.operation(
    200, AuditOut, *_UNREADABLE, "busy", body=LogIn(), reads=load_log, takes=("text/plain",), limited="audits"
)
def audit_log(log: Any) -> dict[str, Any]:
    """Audit a log.

    Send a log as JSON or as notation (`text/plain`), from this server or made by hand; what a log does not have is
    listed in `unchecked`. `receipts` that you kept prove that a log was cut or rewritten. A false log is a verdict,
    not an error.
    """
    with thinking():
        verdict = audit(log, world().keys)
    AUDITS.labels("sent", "valid" if verdict.valid else "false").inc()
    return verdict_document(verdict)
