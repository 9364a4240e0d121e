"""Observing: each request has an id, is timed and counted, and leaves a line in the log."""

import logging
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from flask import Flask, Response, g, has_request_context, request
from prometheus_client import CONTENT_TYPE_LATEST

from service import metrics
from service.engine.errors import EngineError
from service.engine.events import Move

_LOG = logging.getLogger("service.requests")
# No underscore and no dot, so that a token or a receipt sent by mistake comes into no log.
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_METHODS = ("GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE")


def init_app(app: Flask) -> None:
    """Observe an app. The first to be initialised, so that all others are timed."""
    app.before_request(_begin)
    app.after_request(_end)
    app.logger.addFilter(_name_request)
    app.add_url_rule("/metrics", view_func=get_metrics)


def get_metrics() -> Response:
    """Give all that was counted, for Prometheus to collect."""
    return Response(metrics.exposition(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


@contextmanager
def counting(moves: Sequence[Move]) -> Iterator[None]:
    """Count moves that are made in the block, or the one that is refused there."""
    try:
        yield
    except EngineError as error:
        if error.move is not None:
            metrics.MOVES.labels(moves[error.move].type, error.code).inc()
        raise
    for move in moves:
        metrics.MOVES.labels(move.type, "made").inc()


def _begin() -> None:
    g.begun, g.request_id = time.perf_counter(), _request_id()


def _request_id() -> str:
    """Return the id that the client gave, that of its trace, or a new one."""
    given = request.headers.get("X-Request-Id", "")
    if _REQUEST_ID.fullmatch(given):
        return given
    trace = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return trace[1] if trace else str(uuid.uuid4())


def _end(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    facts = {
        "request": g.request_id,
        "method": request.method if request.method in _METHODS else "other",
        "route": request.url_rule.rule if request.url_rule else None,
        "status": response.status_code,
    }
    response.call_on_close(partial(_record, facts, g.begun, response.mimetype))
    return response


def _record(facts: dict[str, Any], begun: float, mimetype: str | None) -> None:
    taken = time.perf_counter() - begun
    method, route = facts["method"], facts["route"] or "none"
    metrics.REQUESTS.labels(method, route, facts["status"]).inc()
    if mimetype != "text/event-stream":
        metrics.SECONDS.labels(method, route).observe(taken)
    _LOG.info("request", extra={"facts": {**facts, "ms": round(taken * 1000, 2)}})


def _name_request(record: logging.LogRecord) -> bool:
    if has_request_context():
        record.facts = {"request": g.get("request_id")}
    return True
